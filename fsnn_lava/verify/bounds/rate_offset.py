"""delta of E11: how far f(a) is from a neuron's rate, according to its final charge and the late spikes; and the bound that follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.arrived_charge import layer_charge
from fsnn_lava.verify.bounds.charge_rounding import charge_float_error
from fsnn_lava.verify.synaptic_currents import incoming_synapses, total_shift

Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


def rate_offset(batch: Batch, layer: Layer) -> Interval:
    """The lowest and the highest value that delta can have, [B, *shape], spikes per step; rounding makes it an interval."""
    return batch.once("rate offset", layer, _rate_offset)


def _rate_offset(batch: Batch, layer: Layer) -> Interval:
    chip, index = batch.chip, batch.chip.index(layer.name)
    synapses = incoming_synapses(chip, layer)
    theta = layer.per_neuron(layer.threshold).astype(np.float64) * 2.0**STATE_FRACTION_BITS
    charge = batch.result.potentials[index].astype(np.float64)
    for synapse in synapses:
        if chip.delay(synapse) > 0:
            charge = charge + batch.missing_sum(synapse) * 2.0 ** total_shift(synapse)
    floors = sum(total_shift(s) < 0 for s in synapses)  # the integers of E10 are rounded by less than one more
    least, most = layer_charge(batch, layer).lost
    slack = charge_float_error(batch, synapses, batch.drives[index], float(theta.max()))
    scale = theta * chip.weight_sum(batch.steps)
    return (charge + least - floors - 2 * slack) / scale, (charge + most + floors + 2 * slack) / scale


def residual_bound(batch: Batch, layer: Layer) -> NDArray[np.float64]:
    """E11: the largest |f(a) - a| that a neuron's final potential and the late spikes allow, [B, *shape]."""
    rate = batch.rates[batch.chip.index(layer.name)]
    return np.maximum(*(np.abs(np.clip(rate + end, 0.0, 1.0) - rate) for end in rate_offset(batch, layer))) + 4e-16
