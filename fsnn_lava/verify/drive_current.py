"""The current that drives a layer from outside, bias and input, summed over a run as the comparator expects it (E10)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.connections import synaptic_shift
from fsnn_lava.ir.input_current import input_current, input_synapses
from fsnn_lava.ir.network import ChipNetwork, Layer, Synapse
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.synaptic_sums import synaptic_sum

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def drive_current_trace(chip: ChipNetwork, layer: Layer, values: NDArray[np.uint8], steps: int) -> Ints | Floats:
    """Return <D> of E10: the leak-weighted sum of the currents from bias and input, [B, *shape] (or [1, *shape]), units 2**-6.

    int64 and exact for IF, float64 with a leak.
    """
    bias = layer.bias[None].astype(np.int64) << STATE_FRACTION_BITS
    synapses = input_synapses(chip, layer)
    weights = chip.leak ** np.arange(steps - 1, -1, -1, dtype=np.float64)
    if chip.input.kind == "events":
        total = _accumulated(bias, weights, chip.decay)
        for synapse in synapses:
            total = total + _events_trace(chip, synapse, values, weights)
        return total
    if layer is chip.layers[0] and chip.input.kind == "current":
        return _accumulated(input_current(chip, values).astype(np.int64), weights, chip.decay)
    for synapse in synapses:
        bias = bias + _shifted(synaptic_sum(synapse, values), synaptic_shift(synapse))
    return _accumulated(bias, weights, chip.decay)


def _events_trace(chip: ChipNetwork, synapse: Synapse, values: NDArray[np.uint8], weights: Floats) -> Ints | Floats:
    """Return <shift(w x[tau], n)>: every step is floored, so only a shift to the left can be moved out of the sum."""
    bits = synaptic_shift(synapse)
    if bits >= 0:
        if chip.decay == 0:
            return synaptic_sum(synapse, values.sum(axis=1, dtype=np.int64)) << bits
        return synaptic_sum(synapse, np.tensordot(weights, values.astype(np.float64), axes=(0, 1))) * 2.0**bits
    total: Any = 0
    for step, weight in enumerate(weights):
        current = _shifted(synaptic_sum(synapse, values[:, step]), bits)
        total = total + (current if chip.decay == 0 else weight * current)
    return total


def _accumulated(static: Ints, weights: Floats, decay: int) -> Ints | Floats:
    """Return the (leak-weighted) sum of a current that is the same in every step."""
    return static * len(weights) if decay == 0 else static.astype(np.float64) * float(weights.sum())


def _shifted(x: Ints, bits: int) -> Ints:
    return x << bits if bits >= 0 else x >> -bits
