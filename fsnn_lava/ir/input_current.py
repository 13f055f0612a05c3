"""The constant current into each layer of a network with a static input: the same numbers for every backend, batch and machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.arithmetic import shift
from fsnn_lava.compiled.convolution import convolve
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, HostDrive, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.limits import BIAS_MAX, INT32_MAX, MESSAGE_MAX, STATE_FRACTION_BITS


def input_current(chip: ChipNetwork, values: NDArray[np.uint8], *, position: int = 0) -> NDArray[np.int32]:
    """Return the constant current that enters a layer at each step, [B, *shape], units 2**-6: input (or host drive) plus bias.

    It does not depend on how samples are split into batches. Only for the input kinds "pixels" and "current".
    """
    current = input_current_channels_last(chip, values, position=position)
    spatial = len(chip.layers[position].shape) == 3
    return np.ascontiguousarray(current.transpose(0, 3, 1, 2)) if spatial else current.reshape(len(values), -1)


def input_current_channels_last(chip: ChipNetwork, values: NDArray[np.uint8], *, position: int = 0) -> NDArray[np.int32]:
    """Return the input current as [B, H, W, C]; a layer of shape (N,) is [B, 1, 1, N]."""
    if chip.input.kind == "events":
        raise BadArgument("a network with event input has no constant input current; send the messages step by step instead")
    layer = chip.layers[position]
    if chip.host_drive is not None and position == 0:
        return _from_host(chip.host_drive, layer, values)
    return _from_synapses(input_synapses(chip, layer), layer, values)


def input_synapses(chip: ChipNetwork, layer: Layer) -> list[Synapse]:
    """Return the synapses from the input into `layer`, which cause its input current."""
    return [s for s in chip.into(layer) if s.source == INPUT]


def _accumulate(synapse: Synapse, messages: NDArray[np.uint8]) -> NDArray[Any]:
    """Return weight @ messages in exact integers, not shifted: [B, H, W, C] of the target from [B, *source]."""
    weight = synapse.weight
    if isinstance(synapse, TransposedConvSynapse):
        return _accumulate_transposed(synapse, messages)
    sizes = np.abs(weight.astype(np.int64)).reshape(len(weight), -1).sum(axis=1)
    dtype = np.int32 if int(sizes.max(initial=0)) * MESSAGE_MAX <= INT32_MAX else np.int64
    if not isinstance(synapse, ConvSynapse):
        return _accumulate_dense(weight.astype(dtype), messages)
    inner, outer = weight.shape[1], weight.shape[0] // synapse.groups
    parts = []
    for g in range(synapse.groups):
        taps = weight[g * outer : (g + 1) * outer].transpose(1, 2, 3, 0).astype(dtype)
        part = messages[:, g * inner : (g + 1) * inner]
        parts.append(convolve(taps, part, stride=synapse.stride, padding=synapse.padding, dilation=synapse.dilation))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=3)


def _from_host(drive: HostDrive, layer: Layer, values: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return F x + b of the float network, rounded to the layer's weight units, plus its integer bias."""
    if drive.weight.ndim == 4:
        product = convolve(drive.weight.transpose(1, 2, 3, 0), values, stride=drive.stride, padding=drive.padding)
    else:
        product = _accumulate_dense(drive.weight, values)
    physical = product + _channels_last(drive.bias)
    weight_units = np.rint(physical / _channels_last(layer.per_neuron(layer.scale))) + _channels_last(layer.bias).astype(np.int64)
    largest = float(np.abs(weight_units).max(initial=0.0))
    if not largest <= BIAS_MAX:
        raise BadNetwork(
            f"layer {layer.name!r}: the host's drive reaches {largest:.0f} weight units, but a bias can be at most {BIAS_MAX}; "
            "export with a larger scale"
        )
    return weight_units.astype(np.int32) << STATE_FRACTION_BITS


def _from_synapses(synapses: list[Synapse], layer: Layer, values: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return 2**exponent * (weight @ values), summed over all input synapses, plus the layer's bias, units 2**-6."""
    bias = _channels_last(layer.bias).astype(np.int64) << STATE_FRACTION_BITS
    current = np.broadcast_to(bias, (len(values), *bias.shape))
    for synapse in synapses:
        current = current + shift(_accumulate(synapse, values).astype(np.int64, copy=False), STATE_FRACTION_BITS + synapse.exponent)
        largest = int(np.abs(current).max(initial=0))
        if largest > INT32_MAX:
            raise BadNetwork(
                f"{synapse}: the input current reaches {largest} (units 2**-6), which does not fit in 32 bits; lower its exponent"
            )
    return current.astype(np.int32)


def _channels_last(values: NDArray[Any]) -> NDArray[Any]:
    """Return [*shape] as [H, W, C], and (N,) as [1, 1, N]."""
    return values.transpose(1, 2, 0) if values.ndim == 3 else values.reshape(1, 1, -1)


def _accumulate_dense(weight: NDArray[Any], values: NDArray[np.uint8]) -> NDArray[Any]:
    """Return `weight` [N, N_in] @ `values` [B, *input shape] as [B, 1, 1, N], computed as a convolution with one position."""
    return convolve(weight.T[:, None, None, :], values.reshape(len(values), weight.shape[1], 1, 1))


def _accumulate_transposed(synapse: TransposedConvSynapse, messages: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return a transposed convolution, [B, H, W, C]: every message adds its kernel, then the padding is cut off."""
    weight, (sy, sx), (py, px) = synapse.weight.astype(np.int64), synapse.stride, synapse.padding
    channels, height, width = synapse.output_shape(messages.shape[1:])
    padded = np.zeros((len(messages), height + 2 * py, width + 2 * px, channels), dtype=np.int64)
    rows, columns = messages.shape[2:]
    for c, ky, kx in np.ndindex(weight.shape[0], *weight.shape[2:]):
        targets = padded[:, ky : ky + sy * (rows - 1) + 1 : sy, kx : kx + sx * (columns - 1) + 1 : sx]
        targets += weight[c, :, ky, kx] * messages[:, c, :, :, None].astype(np.int64)
    return padded[:, py : py + height, px : px + width]
