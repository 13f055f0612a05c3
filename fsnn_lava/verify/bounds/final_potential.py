"""The highest potential that a neuron can end with: one that reached its threshold and did not fire ends above it (E9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.synaptic_currents import incoming_synapses, input_synapses, total_shift, weighted_sum

_FLOAT_SLACK = 1.0  # unit of 2**-6: the sums below are exact to far less
_ATRLIF_SLACK = 3.0  # per step: the roundings of v, of r and of the offset's leak


def highest_potential(batch: Batch, layer: Layer) -> NDArray[np.float64]:
    """[B, *shape] units 2**-6. A step without a spike leaves u below the threshold, and each later one adds a current and subtracts it.

    So u[T] <= theta - 1 + n max(0, I - theta) after n spikes in a row, at most all that were counted, for currents up to I; n is 0 where
    the recorded train ends without a spike, and with reset to zero. Clipping only lowers it.
    """
    index = batch.chip.index(layer.name)
    theta = layer.per_neuron(layer.threshold).astype(np.float64) * 2.0**STATE_FRACTION_BITS
    below = theta - 1 + layer.strict
    if layer.reset == "zero":
        return np.broadcast_to(below, batch.result.potentials[index].shape)
    in_a_row = batch.result.counts[index].astype(np.float64)
    if batch.result.spikes is not None:
        in_a_row = in_a_row * batch.result.spikes[index][:, -1]
    slack = _FLOAT_SLACK + (_ATRLIF_SLACK if batch.tolerance else 0.0)
    return below + in_a_row * np.maximum(0.0, _highest_current(batch, layer) - theta + slack)


def _highest_current(batch: Batch, layer: Layer) -> NDArray[np.float64]:
    """[B, *shape] the most that one step can add, if exactly the sources with positive weights fire."""
    chip = batch.chip
    if chip.input.kind == "events":
        total = layer.bias.astype(np.float64) * 2.0**STATE_FRACTION_BITS
        for synapse in input_synapses(chip, layer):
            loudest = weighted_sum(synapse, batch.values.max(axis=1), weight=np.maximum(synapse.weight, 0))
            total = total + loudest * 2.0 ** total_shift(synapse)
    else:
        total = batch.drives[chip.index(layer.name)] / chip.weight_sum(batch.steps)  # the same at every step
    for synapse in incoming_synapses(chip, layer):
        everyone = np.ones((1, *chip.layer(synapse.source).shape))
        total = total + weighted_sum(synapse, everyone, weight=np.maximum(synapse.weight, 0)) * 2.0 ** total_shift(synapse)
    return np.broadcast_to(total, (batch.samples, *layer.shape))
