"""The expected sums and rates of a run with delta encoding, from its final state alone (E15).

Shares no code with the backends. All numbers are integers in units of 2**-q spikes per step or of 2**-q weight units.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.connections import incoming_synapses
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, Layer, Synapse
from fsnn_lava.limits import FRAME_BITS, STATE_FRACTION_BITS, STATE_MAX
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.synaptic_sums import synaptic_sum

Ints = NDArray[np.int64]


def told_rates(batch: Batch, index: int) -> Ints:
    """Return the rates that a layer sent to its targets, [B, *shape]."""
    return np.rint(batch.result.traces[index]).astype(np.int64)


def delta_sums_under_way(batch: Batch, synapse: Synapse) -> Ints | None:
    """Return the changes of a synapse's source that had not arrived at the end, [B, *shape of the source]; None if it is not feedback."""
    position = next((i for i, s in enumerate(batch.chip.feedback) if s is synapse), None)
    return None if position is None else batch.result.late[position].astype(np.int64)


def expected_sums(batch: Batch, layer: Layer) -> Ints:
    """Return S of E15: the sum over all connections of 2**exponent (weight @ what arrived), [B, *shape]."""
    return batch.once("sums", layer, _expected_sums)


def _expected_sums(batch: Batch, layer: Layer) -> Ints:
    total = np.zeros((batch.samples, *layer.shape), dtype=np.int64)
    for synapse in incoming_synapses(batch.chip, layer):
        arrived, late = told_rates(batch, batch.chip.index(synapse.source)), delta_sums_under_way(batch, synapse)
        total += synaptic_sum(synapse, arrived if late is None else arrived - late) << synapse.exponent
    return total


def expected_delta_readout(batch: Batch) -> Ints:
    """Return the expected sums of the readout, 2**exponent (weight @ rates) + 2**q bias, [B, classes]."""
    readout, last = batch.chip.readout, told_rates(batch, len(batch.chip.layers) - 1)
    product = last.reshape(batch.samples, -1) @ readout.weight.astype(np.int64).T
    return (product << readout.exponent) + (readout.bias.astype(np.int64) << batch.delta.rate_bits)


def delta_sums_of_drive(batch: Batch, layer: Layer) -> Ints:
    """Return 2**q times input and bias, [B, *shape] or [1, *shape]; not clipped."""
    return batch.once("drive", layer, _drive_sums)


def _drive_sums(batch: Batch, layer: Layer) -> Ints:
    chip, bits = batch.chip, batch.delta.rate_bits
    if chip.host_drive is not None and layer is chip.layers[0]:
        return input_current(chip, batch.values).astype(np.int64) << (bits - STATE_FRACTION_BITS)
    if chip.input.kind == "events":
        return _frame_sums(batch, layer)
    drive = layer.bias[None].astype(np.int64) << bits
    for synapse in chip.into(layer):
        if synapse.source == INPUT:
            drive = drive + (synaptic_sum(synapse, batch.values) << (bits + synapse.exponent))
    return drive


def _frame_sums(batch: Batch, layer: Layer) -> Ints:
    """Return the same for events: frames are multiplied by their weights and summed, and the sum is shifted once."""
    bits, synapses = batch.delta.rate_bits, [synapse for synapse in batch.chip.into(layer) if synapse.source == INPUT]
    drive = layer.bias[None].astype(np.int64) << bits
    if not synapses:
        return drive
    finest = min(synapse.exponent for synapse in synapses)
    total = sum(synaptic_sum(synapse, batch.weighted_frames) << (synapse.exponent - finest) for synapse in synapses)
    shift = bits + finest - FRAME_BITS
    return drive + (total << shift if shift >= 0 else total >> -shift)


def rates_of_delta_sums(batch: Batch, layer: Layer) -> Ints:
    """Return y = clip(z >> s, 0, the largest rate) for the sums that the backend recorded, [B, *shape]."""
    sums = batch.result.potentials[batch.chip.index(layer.name)].astype(np.int64)
    z = sums + np.clip(delta_sums_of_drive(batch, layer), -STATE_MAX, STATE_MAX)
    return np.clip(z // layer.per_neuron(layer.threshold).astype(np.int64), 0, batch.delta.ceiling)
