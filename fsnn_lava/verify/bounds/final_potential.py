"""Bound the final potential of a neuron: one that reached its threshold and did not fire ends above the bound (E9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.connections import incoming_synapses, synaptic_shift
from fsnn_lava.ir.input_current import input_synapses
from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.synaptic_sums import largest_synaptic_sum, synaptic_sum_with

_FLOAT_SLACK = 1.0  # unit of 2**-6: the sums below are exact to far less
_ATRLIF_SLACK = 3.0  # per step, for rounding v, r and the leak of the offset


Places = tuple[NDArray[np.intp], ...]  # indices of some neurons in [B, *shape]


def above_highest_potential(batch: Batch, layer: Layer) -> tuple[Places, NDArray[np.float64]]:
    """Return the neurons whose final potential is impossible, and its upper bound. Only those above their threshold are examined."""
    potentials = batch.result.potentials[batch.chip.index(layer.name)]
    places = np.nonzero(potentials > _highest_without_spike(layer))
    highest = highest_potential(batch, layer, places)
    wrong = potentials[places] > highest
    return tuple(axis[wrong] for axis in places), highest[wrong]


def highest_potential(batch: Batch, layer: Layer, places: Places) -> NDArray[np.float64]:
    """Return the highest possible final potential of the neurons at `places`, units 2**-6.

    A step without a spike leaves u below the threshold; every later step with a spike adds a current and subtracts the threshold.
    So u[T] <= theta - 1 + n max(0, I - theta) after n spikes in a row, at most all that were counted, for currents up to I; n is 0 if
    the recorded train ends without a spike, and with reset to zero. If fewer than d of the last d steps have a spike, n is at most their
    number, which the late spikes of a feedback connection show. Clipping only lowers the potential.
    """
    index, shape = batch.chip.index(layer.name), (batch.samples, *layer.shape)
    below = np.broadcast_to(_highest_without_spike(layer), shape)[places]
    if layer.reset == "zero":
        return below
    theta = np.broadcast_to(layer.per_neuron(layer.threshold), shape)[places] * 2.0**STATE_FRACTION_BITS
    in_a_row = batch.result.counts[index][places].astype(np.float64)
    if batch.result.spikes is not None:
        in_a_row = in_a_row * batch.result.spikes[index][:, -1][places]
    for position, synapse in enumerate(batch.chip.feedback):
        if batch.chip.index(synapse.source) == index:
            late = batch.result.late[position][places]
            silent = late < min(batch.chip.delay(synapse), batch.steps)  # in one of these last steps
            in_a_row = np.where(silent, np.minimum(in_a_row, late), in_a_row)
    slack = _FLOAT_SLACK + (_ATRLIF_SLACK if batch.tolerance else 0.0)
    return below + in_a_row * np.maximum(0.0, _highest_current(batch, layer, places) - theta + slack)


def _highest_without_spike(layer: Layer) -> NDArray[np.float64]:
    """Return the highest potential of a neuron that did not fire, [*shape], units 2**-6."""
    return layer.per_neuron(layer.threshold).astype(np.float64) * 2.0**STATE_FRACTION_BITS - 1 + layer.strict


def _highest_current(batch: Batch, layer: Layer, places: Places) -> NDArray[np.float64]:
    """Return the most that one step can add, reached if all and only the sources with positive weights fire."""
    chip, shape = batch.chip, (batch.samples, *layer.shape)
    if chip.input.kind == "events":
        most_from_input = layer.bias.astype(np.float64) * 2.0**STATE_FRACTION_BITS
        for synapse in input_synapses(chip, layer):
            largest = synaptic_sum_with(synapse, np.maximum(synapse.weight, 0), batch.values.max(axis=1))
            most_from_input = most_from_input + largest * 2.0 ** synaptic_shift(synapse)
        total = np.broadcast_to(most_from_input, shape)[places]
    else:
        total = np.broadcast_to(batch.drives[chip.index(layer.name)], shape)[places] / chip.weight_sum(batch.steps)  # per step
    for synapse in incoming_synapses(chip, layer):
        most = largest_synaptic_sum(synapse, chip.layer(synapse.source).shape) * 2.0 ** synaptic_shift(synapse)
        total = total + np.broadcast_to(most.reshape(layer.shape), shape)[places]
    return total
