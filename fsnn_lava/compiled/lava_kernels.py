"""Loops over a batch, compiled, for one thread: a process forked from a program with threads must not start its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW, after_spike, leaked, shift
from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.scatter import scatter, scatter_graded
from fsnn_lava.limits import DECAY_UNIT, STATE_MAX


@compiled
def deliver(
    messages: Any, graded: bool, weight: Any, form: Any, rows: Any, columns: Any, bits: int, total: Any, places: Any, out: Any
) -> None:
    """out[b] = shift(weight @ messages[b], bits), [B, n_target], for messages [B, n_source]: any number if `graded`, else 0 or 1.

    `total` [n_target] and `places` [n_source] are room to work in.
    """
    for b in range(len(messages)):
        total[:] = 0
        if graded:
            scatter_graded(total, weight, messages[b], form, rows, columns)
        else:
            number = 0
            for i in range(messages.shape[1]):
                places[number] = i
                number += messages[b, i]
            scatter(total, weight, places[:number], messages[b, :0], form, rows, columns)
        for j in range(len(total)):
            out[b, j] = shift(np.int64(total[j]), bits)


@compiled
def fire(
    u: Any, current: Any, bias: Any, threshold: Any, first: Any, keep: int, subtract: bool, spikes: Any, flags: Any, clips: Any
) -> None:
    """One step of every neuron (E9): u [B, n], spikes and flags are updated in place, clips [B] is increased.

    current [B, n], bias, threshold and first [n] (the smallest u that spikes), all in units of 2**-6.
    """
    for b in range(len(u)):
        for i in range(u.shape[1]):
            kept = np.int64(u[b, i])
            if keep != DECAY_UNIT:
                kept = leaked(kept, keep)
            raw = kept + np.int64(current[b, i]) + np.int64(bias[i])
            if raw > STATE_MAX:
                raw = np.int64(STATE_MAX)
                flags[b, i] |= CLIPPED_HIGH
                clips[b] += 1
            elif raw < -STATE_MAX:
                raw = np.int64(-STATE_MAX)
                flags[b, i] |= CLIPPED_LOW
                clips[b] += 1
            spike = raw >= first[i]
            spikes[b, i] = spike
            u[b, i] = after_spike(raw, np.int64(spike), np.int64(threshold[i]), subtract)


def compile_fire(current: type) -> None:
    """Afterwards `fire` is compiled for currents of this type: a forked process does not have to."""
    states, ones = np.zeros((0, 1), dtype=np.int32), np.zeros(1, dtype=np.int32)
    flags = np.zeros((0, 1), dtype=np.uint8)
    fire(states, np.zeros((0, 1), dtype=current), ones, ones, ones, DECAY_UNIT, True, flags, flags, np.zeros(0, dtype=np.int64))
