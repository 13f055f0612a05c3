"""Bound the residual |f(a) - a| given the final state of a run: E11 for rate coding, E16 for delta encoding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.residual_bounds import largest_residuals
from fsnn_lava.ir.connections import incoming_synapses
from fsnn_lava.ir.network import Layer
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.delta_sums import delta_sums_under_way, rates_of_delta_sums, told_rates
from fsnn_lava.verify.bounds.rate_offset import rate_offset
from fsnn_lava.verify.synaptic_sums import synaptic_sum


def residual_bound(batch: Batch, layer: Layer) -> NDArray[np.float64]:
    """Return the largest residual |f(a) - a| that a neuron's final potential and the late spikes allow (E11), [B, *shape]."""
    found, rate = rate_offset(batch, layer), batch.rates[batch.chip.index(layer.name)]
    bound = np.empty((batch.samples, layer.size))
    low, high = (end.reshape(-1, end[:1].size) if end.ndim else end.reshape(1, 1) for end in (found.low, found.high))
    flat = (rate.reshape(bound.shape), found.charge.reshape(bound.shape), found.scale.reshape(-1), low, high)
    rates, charge, scale, lows, highs = (np.ascontiguousarray(part) for part in flat)
    largest_residuals(rates, charge, scale, lows, highs, bound)
    return bound.reshape(batch.samples, *layer.shape)


def delta_residual_bound(batch: Batch, layer: Layer) -> NDArray[np.float64]:
    """Return the residual bound of E16, |y - told| + 2**-q + |W (in flight)| / vth, spikes per step, [B, *shape]."""
    chip, one = batch.chip, batch.delta.one
    bound = np.abs(rates_of_delta_sums(batch, layer) - told_rates(batch, chip.index(layer.name))) + 1.0
    missing: Any = 0
    for synapse in incoming_synapses(chip, layer):
        late = delta_sums_under_way(batch, synapse)
        if late is not None:
            missing = missing + (synaptic_sum(synapse, late) << synapse.exponent)
    bound = bound + np.abs(missing) / layer.per_neuron(layer.threshold)
    return bound / one + 1e-12  # f(a) is computed in float64: sums below 2**53 are exact, the division is not
