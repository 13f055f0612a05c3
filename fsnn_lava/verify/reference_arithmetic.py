"""The arithmetic of both references, of spikes and of messages, written as plainly as NumPy allows.

It shares nothing with the backends, except for ties in the rounding of a host drive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, HostDrive, Readout, Synapse

Ints = NDArray[np.int64]
TOP = 2**23 - 1
_TIE = 1e-6  # a host drive this close to a half may round either way, because float64 sums depend on their order


def reference_sum(synapse: Synapse | Readout, messages: NDArray[Any]) -> Ints:
    """Compute weight @ messages plainly, [B, *target] from [B, *source], tap by tap; floats hold all partial sums, integers, exactly."""
    kind = np.float32 if _largest_sum(synapse, messages) < 2**24 else np.float64
    weight: NDArray[Any] = synapse.weight.astype(kind)
    sent: NDArray[Any] = messages.astype(kind)
    if isinstance(synapse, (DenseSynapse, Readout)):
        return np.rint(sent.reshape(len(sent), -1) @ weight.T).astype(np.int64)
    total = _convolved(synapse, weight, sent) if isinstance(synapse, ConvSynapse) else _spread(synapse, weight, sent)
    return np.rint(total).astype(np.int64)


def _largest_sum(synapse: Synapse | Readout, messages: NDArray[Any]) -> int:
    """Bound every partial sum: the largest weight times the largest message times the most messages that reach a neuron."""
    most = synapse.weight.size // min(synapse.weight.shape[:2])
    return most * int(np.abs(synapse.weight.astype(np.int64)).max(initial=0)) * int(np.abs(messages.astype(np.int64)).max(initial=0))


def _convolved(synapse: ConvSynapse | HostDrive, weight: NDArray[Any], sent: NDArray[Any]) -> NDArray[np.float64]:
    (sy, sx), (py, px) = synapse.stride, synapse.padding
    groups, (dy, dx) = (1, (1, 1)) if isinstance(synapse, HostDrive) else (synapse.groups, synapse.dilation)
    padded = np.pad(sent, ((0, 0), (0, 0), (py, py), (px, px)))
    rows, columns = ((padded.shape[2 + i] - (dy, dx)[i] * (weight.shape[2 + i] - 1) - 1) // (sy, sx)[i] + 1 for i in (0, 1))
    parts = []
    for kernel, source in zip(np.split(weight, groups), np.split(padded, groups, axis=1), strict=True):
        total = np.zeros((len(sent), len(kernel), rows, columns))
        for y, x in np.ndindex(*weight.shape[2:]):
            window = source[:, :, dy * y : dy * y + sy * rows : sy, dx * x : dx * x + sx * columns : sx]
            total += np.moveaxis(np.tensordot(kernel[:, :, y, x], window, axes=(1, 1)), 0, 1)
        parts.append(total)
    return np.concatenate(parts, axis=1)


def _spread(synapse: Any, weight: NDArray[Any], sent: NDArray[Any]) -> NDArray[np.float64]:
    """Apply a transposed convolution: every source adds its kernel to the target's grid."""
    (sy, sx), (py, px), (oy, ox) = synapse.stride, synapse.padding, synapse.output_padding
    rows, columns, (ky, kx) = sent.shape[2], sent.shape[3], weight.shape[2:]
    whole = np.zeros((len(sent), weight.shape[1], (rows - 1) * sy + ky + oy, (columns - 1) * sx + kx + ox))
    for y, x in np.ndindex(ky, kx):
        add = np.moveaxis(np.tensordot(weight[:, :, y, x], sent, axes=(0, 1)), 0, 1)
        whole[:, :, y : y + sy * rows : sy, x : x + sx * columns : sx][:, :, :rows, :columns] += add
    return whole[:, :, py : whole.shape[2] - py, px : whole.shape[3] - px]


def reference_host_current(chip: ChipNetwork, values: NDArray[np.uint8]) -> Ints:
    """Compute plainly the bias that the host writes, without the layer's own, units 2**-6. Rounding ties follow the host."""
    drive, layer = chip.host_drive, chip.layers[0]
    assert drive is not None
    sent = values.astype(np.float64)
    if drive.weight.ndim == 2:
        total = (sent.reshape(len(sent), -1) @ drive.weight.T).reshape(len(sent), *layer.shape)
    else:
        total = _convolved(drive, drive.weight, sent)
    exact = (total + drive.bias) / layer.per_neuron(layer.scale)
    rounded = np.rint(exact).astype(np.int64) << 6
    tie = np.abs(np.abs(exact - np.floor(exact)) - 0.5) < _TIE
    return np.where(tie, input_current(chip, values) - (layer.bias.astype(np.int64) << 6), rounded)


def reference_shift(total: Ints, bits: int) -> Ints:
    """Compute total * 2**bits directly, rounding down."""
    return total * 2**bits if bits >= 0 else total // 2**-bits


def reference_operations(chip: ChipNetwork, sent: list[Ints], inputs: NDArray[Any]) -> Ints:
    """Return the number of weights that all messages touched, [B]: the sums of the messages that arrived, with all weights 1.

    Args:
        chip: the network.
        sent: [B, T, *shape] per layer, the number of messages that each neuron sent in each step.
        inputs: [B, *input], the number of messages from each input.
    """
    steps, total = sent[-1].shape[1], sent[-1].reshape(len(inputs), -1).sum(axis=1) * chip.readout.classes
    for synapse in chip.synapses:
        if synapse.source == INPUT:
            messages = inputs
        else:
            messages = sent[chip.index(synapse.source)][:, : max(0, steps - chip.delay(synapse))].sum(axis=1)
        touched = reference_sum(replace(synapse, weight=np.ones_like(synapse.weight)), messages)
        total = total + touched.reshape(len(inputs), -1).sum(axis=1)
    return total


def reference_updates(chip: ChipNetwork, samples: int, steps: int) -> Ints:
    """Return the number of neuron updates, [B]: every neuron and every class in each of its steps."""
    return np.full(samples, steps * (sum(layer.size for layer in chip.layers) + chip.readout.classes), np.int64)
