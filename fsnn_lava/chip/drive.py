"""The constant current into layer 1 of a network with a static input: exact integers, the same for every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.chip import limits
from fsnn_lava.chip.arithmetic import shift
from fsnn_lava.chip.network import ChipNetwork, ConvSynapse, DenseSynapse, HostDrive, Synapse, TransposedConvSynapse
from fsnn_lava.errors import BadArgument, BadNetwork

Pair = tuple[int, int]
_CURRENT_MAX = 2**31 - 1


def input_current(chip: ChipNetwork, values: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Everything constant that enters layer 1 at each step, [B, *shape of layer 1], units 2**-6: input (or host drive) plus bias.

    Does not depend on how samples are split into batches. Input kinds "pixels" and "current" only.
    """
    layer = chip.layers[0]
    if chip.input.kind == "events":
        raise BadArgument("a network of event sequences has no constant input current; step through the messages instead")
    bias = layer.bias.astype(np.int64) << limits.STATE_FRACTION_BITS
    if chip.host_drive is not None:
        return _host_current(chip, values)
    synapse = next(s for s in chip.into(layer) if chip.is_forward(s))
    current = shift(accumulate(synapse, values, layer.shape), limits.STATE_FRACTION_BITS + synapse.exponent) + bias
    largest = int(np.abs(current).max(initial=0))
    if largest > _CURRENT_MAX:
        raise BadNetwork(
            f"{synapse}: the input current reaches {largest} (units 2**-6), more than 32 bits hold; lower its exponent {synapse.exponent}"
        )
    return current.astype(np.int32)


def accumulate(synapse: Synapse, messages: NDArray[Any], target: tuple[int, ...]) -> NDArray[np.int64]:
    """weight @ messages in exact integers, not shifted: [B, *target] from [B, *source]."""
    weight = synapse.weight.astype(np.int64)
    if isinstance(synapse, DenseSynapse):
        flat = np.ascontiguousarray(messages.reshape(len(messages), -1), dtype=np.float64)
        return (flat @ weight.T.astype(np.float64)).astype(np.int64)  # integers below 2**53: exact in any order
    if isinstance(synapse, TransposedConvSynapse):
        return _transposed(weight, messages, target, synapse.stride, synapse.padding)
    if isinstance(synapse, ConvSynapse):
        inner, outer = weight.shape[1], weight.shape[0] // synapse.groups
        parts = [
            _convolution(
                weight[g * outer : (g + 1) * outer],
                messages[:, g * inner : (g + 1) * inner],
                (outer, *target[1:]),
                synapse.stride,
                synapse.padding,
            )
            for g in range(synapse.groups)
        ]
        return np.concatenate(parts, axis=1)
    raise BadArgument(f"{synapse}: cannot accumulate a {type(synapse).__name__}")


def _convolution(weight: NDArray[Any], messages: NDArray[Any], target: tuple[int, ...], stride: Pair, padding: Pair) -> NDArray[Any]:
    """[B, *target], summed tap by tap in one fixed order, so that a float sum does not depend on the batch."""
    total = np.zeros((len(messages), *target), dtype=weight.dtype)
    padded = np.pad(messages, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2)).astype(weight.dtype)
    _, height, width = target
    for c in range(weight.shape[1]):
        for ky in range(weight.shape[2]):
            for kx in range(weight.shape[3]):
                seen = padded[
                    :, c, None, ky : ky + stride[0] * (height - 1) + 1 : stride[0], kx : kx + stride[1] * (width - 1) + 1 : stride[1]
                ]
                total += weight[:, c, ky, kx][:, None, None] * seen
    return total


def _transposed(weight: NDArray[Any], messages: NDArray[Any], target: tuple[int, ...], stride: Pair, padding: Pair) -> NDArray[Any]:
    """[B, *target] of a transposed convolution: every message is spread over its kernel, the padding is cut off."""
    _, _, height, width = messages.shape
    whole = np.zeros((len(messages), target[0], target[1] + 2 * padding[0], target[2] + 2 * padding[1]), dtype=weight.dtype)
    for c in range(weight.shape[0]):
        for ky in range(weight.shape[2]):
            for kx in range(weight.shape[3]):
                hit = whole[:, :, ky : ky + stride[0] * (height - 1) + 1 : stride[0], kx : kx + stride[1] * (width - 1) + 1 : stride[1]]
                hit += weight[c, :, ky, kx][:, None, None] * messages[:, c, None].astype(weight.dtype)
    return whole[:, :, padding[0] : padding[0] + target[1], padding[1] : padding[1] + target[2]]


def _host_current(chip: ChipNetwork, values: NDArray[np.uint8]) -> NDArray[np.int32]:
    """What the host writes as a bias: (F x + b) / scale in float64, rounded half to even, plus the layer's own bias; in units 2**-6."""
    layer, drive = chip.layers[0], chip.host_drive
    if drive is None:
        raise BadArgument("the network has no host drive")
    weight_units = np.rint(_host_sum(drive, values, layer.shape) / layer.per_neuron(layer.scale)) + layer.bias
    largest = float(np.abs(weight_units).max(initial=0.0))
    if not largest <= limits.BIAS_MAX:
        raise BadNetwork(
            f"layer {layer.name!r}: the host's drive reaches {largest:.0f} weight units, a bias holds {limits.BIAS_MAX}; export with a larger scale"
        )
    return weight_units.astype(np.int32) << limits.STATE_FRACTION_BITS


def _host_sum(drive: HostDrive, values: NDArray[np.uint8], target: tuple[int, ...]) -> NDArray[np.float64]:
    """F x + b, [B, *target], in the float network's units."""
    if drive.weight.ndim == 4:
        return _convolution(drive.weight, values, target, drive.stride, drive.padding) + drive.bias
    flat = values.reshape(len(values), -1, 1, 1)
    total = _convolution(drive.weight[:, :, None, None], flat, (len(drive.weight), 1, 1), (1, 1), (0, 0))
    return total.reshape(len(values), *target) + drive.bias
