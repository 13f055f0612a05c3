"""One step of a synapse and of a neuron for a whole batch, as Lava's processes run it.

They are single-threaded, because a process forked from a program with threads must not start threads of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW, after_spike, leaked, shift
from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.scatter import scatter, scatter_graded
from fsnn_lava.limits import DECAY_UNIT, STATE_MAX


@compiled
def lava_synapse_step(
    messages: Any, graded: bool, weight: Any, form: Any, row_spans: Any, column_spans: Any, bits: int, total: Any, fired: Any, out: Any
) -> None:
    """Do a Lava step of a synapse: out[b] = shift(weight @ messages[b], bits), [B, n_target], for messages [B, n_source].

    Messages may be any integers if `graded`; otherwise they are 0 or 1. `total` [n_target] and `fired` [n_source] are scratch.
    """
    for b in range(len(messages)):
        total[:] = 0
        if graded:
            scatter_graded(total, weight, messages[b], form, row_spans, column_spans)
        else:
            number = 0
            for i in range(messages.shape[1]):
                fired[number] = i
                number += messages[b, i]
            scatter(total, weight, fired[:number], messages[b, :0], form, row_spans, column_spans)
        for j in range(len(total)):
            out[b, j] = shift(np.int64(total[j]), bits)


@compiled
def _clipped(raw: Any, b: int, i: int, flags: Any, clips: Any) -> Any:
    """Return `raw` clipped to the state's range; mark a clip in flags[b, i] and count it in clips[b]."""
    if raw > STATE_MAX:
        flags[b, i] |= CLIPPED_HIGH
        clips[b] += 1
        return np.int64(STATE_MAX)
    if raw < -STATE_MAX:
        flags[b, i] |= CLIPPED_LOW
        clips[b] += 1
        return np.int64(-STATE_MAX)
    return raw


@compiled
def lava_neuron_step(
    u: Any, current: Any, bias: Any, threshold: Any, first: Any, keep: int, subtract: bool, spikes: Any, flags: Any, clips: Any
) -> None:
    """Do a Lava step of every neuron (E9): u, spikes and flags [B, n] are updated in place, and clips are counted in `clips` [B].

    current [B, n], bias, threshold and first [n] (the smallest u that spikes) are in units of 2**-6.
    """
    for b in range(len(u)):
        for i in range(u.shape[1]):
            kept = np.int64(u[b, i])
            if keep != DECAY_UNIT:
                kept = leaked(kept, keep)
            raw = _clipped(kept + np.int64(current[b, i]) + np.int64(bias[i]), b, i, flags, clips)
            spike = raw >= first[i]
            spikes[b, i] = spike
            u[b, i] = after_spike(raw, np.int64(spike), np.int64(threshold[i]), subtract)


@compiled
def lava_delta_step(
    sums: Any, received: Any, drive: Any, shifts: Any, ceiling: int, band: int, told: Any, changes: Any, flags: Any, clips: Any
) -> None:
    """Do a Lava step of every neuron with delta encoding (E15): update sums, told, changes and flags [B, n]; count clips in `clips` [B].

    received, drive [B, n] and sums are in units of 2**-q weight units, told and changes in units of 2**-q; shifts [n] are s.
    No rate exceeds `ceiling`.
    """
    for b in range(len(sums)):
        for i in range(sums.shape[1]):
            raw = _clipped(np.int64(sums[b, i]) + np.int64(received[b, i]), b, i, flags, clips)
            sums[b, i] = raw
            rate = min(max((raw + np.int64(drive[b, i])) >> shifts[i], 0), ceiling)
            change = rate - told[b, i]
            if np.abs(change) < band:
                change = 0
            told[b, i] += change
            changes[b, i] = change


def compile_lava_delta_step() -> None:
    """Compile `lava_delta_step`, so that forked processes need not do so."""
    states, wide = np.zeros((0, 1), dtype=np.int32), np.zeros((0, 1), dtype=np.int64)
    flags, clips = np.zeros((0, 1), dtype=np.uint8), np.zeros(0, dtype=np.int64)
    lava_delta_step(states, wide, wide, np.zeros(1, dtype=np.int64), 1, 1, states, states, flags, clips)


def compile_lava_neuron_step(current: type) -> None:
    """Compile `lava_neuron_step` for currents of this type, so that forked processes need not do so."""
    states, ones = np.zeros((0, 1), dtype=np.int32), np.zeros(1, dtype=np.int32)
    flags = np.zeros((0, 1), dtype=np.uint8)
    lava_neuron_step(states, np.zeros((0, 1), dtype=current), ones, ones, ones, DECAY_UNIT, True, flags, flags, np.zeros(0, dtype=np.int64))
