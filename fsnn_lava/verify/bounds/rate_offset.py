"""delta of E11: how far f(a) is from a neuron's rate, according to its final charge and the late spikes; and the bound that follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.residual_bounds import largest_residuals
from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.arrived_charge import layer_charge
from fsnn_lava.verify.bounds.charge_rounding import charge_float_error
from fsnn_lava.verify.synaptic_currents import incoming_synapses, total_shift

Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class _Offset:
    """delta of E11 times `scale`: `charge` plus something between `low` and `high`, which rounding leaves open."""

    charge: NDArray[np.float64]  # [B, *shape] final potential and late spikes
    low: NDArray[np.float64]  # [B or 1, *shape], or one number
    high: NDArray[np.float64]
    scale: NDArray[np.float64]  # [*shape] theta A


def rate_offset(batch: Batch, layer: Layer) -> Interval:
    """The lowest and the highest value that delta can have, [B, *shape], spikes per step; rounding makes it an interval."""
    found = batch.once("rate offset", layer, _offset)
    return (found.charge + found.low) / found.scale, (found.charge + found.high) / found.scale


def _offset(batch: Batch, layer: Layer) -> _Offset:
    chip, index = batch.chip, batch.chip.index(layer.name)
    synapses = incoming_synapses(chip, layer)
    theta = layer.per_neuron(layer.threshold).astype(np.float64) * 2.0**STATE_FRACTION_BITS
    charge = batch.result.potentials[index].astype(np.float64)
    for synapse in synapses:
        if chip.delay(synapse) > 0:
            charge += batch.missing_sum(synapse) * 2.0 ** total_shift(synapse)
    floors = sum(total_shift(s) < 0 for s in synapses)  # the integers of E10 are rounded by less than one more
    least, most = layer_charge(batch, layer).lost
    slack = floors + 2 * charge_float_error(batch, synapses, batch.drives[index], float(theta.max()))
    return _Offset(
        charge, np.asarray(least - slack, np.float64), np.asarray(most + slack, np.float64), theta * chip.weight_sum(batch.steps)
    )


def residual_bound(batch: Batch, layer: Layer) -> NDArray[np.float64]:
    """E11: the largest |f(a) - a| that a neuron's final potential and the late spikes allow, [B, *shape]."""
    found, rate = batch.once("rate offset", layer, _offset), batch.rates[batch.chip.index(layer.name)]
    bound = np.empty((batch.samples, layer.size))
    low, high = (end.reshape(-1, end[:1].size) if end.ndim else end.reshape(1, 1) for end in (found.low, found.high))
    flat = (rate.reshape(bound.shape), found.charge.reshape(bound.shape), found.scale.reshape(-1), low, high)
    rates, charge, scale, lows, highs = (np.ascontiguousarray(part) for part in flat)
    largest_residuals(rates, charge, scale, lows, highs, bound)
    return bound.reshape(batch.samples, *layer.shape)
