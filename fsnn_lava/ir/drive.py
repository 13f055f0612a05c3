"""The constant current into layer 1 of a network with a static input: the same numbers for every backend, batch and machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.compiled.arithmetic import shift
from fsnn_lava.compiled.compiler import compiled, over_samples
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, HostDrive, Synapse, TransposedConvSynapse

Pair = tuple[int, int]
_CURRENT_MAX = 2**31 - 1


def input_current(chip: ChipNetwork, values: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Everything constant that enters layer 1 at each step, [B, *shape of layer 1], units 2**-6: input (or host drive) plus bias.

    Does not depend on how samples are split into batches. Input kinds "pixels" and "current" only.
    """
    last = input_current_channels_last(chip, values)
    spatial = len(chip.layers[0].shape) == 3
    return np.ascontiguousarray(last.transpose(0, 3, 1, 2)) if spatial else last.reshape(len(values), -1)


def input_current_channels_last(chip: ChipNetwork, values: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The same as [B, H, W, C]; a layer of shape (N,) is [B, 1, 1, N]."""
    if chip.input.kind == "events":
        raise BadArgument("a network of event sequences has no constant input current; step through the messages instead")
    layer = chip.layers[0]
    bias = _grid(layer.bias).astype(np.int64)
    if chip.host_drive is not None:
        physical = _host_sum(chip.host_drive, values) + _grid(chip.host_drive.bias)
        weight_units = np.rint(physical / _grid(layer.per_neuron(layer.scale))) + bias
        largest = float(np.abs(weight_units).max(initial=0.0))
        if not largest <= limits.BIAS_MAX:
            raise BadNetwork(
                f"layer {layer.name!r}: the host's drive reaches {largest:.0f} weight units, a bias holds {limits.BIAS_MAX}; "
                "export with a larger scale"
            )
        return weight_units.astype(np.int32) << limits.STATE_FRACTION_BITS
    synapse = next(s for s in chip.into(layer) if chip.is_forward(s))
    total = accumulate(synapse, values).astype(np.int64, copy=False)
    current = shift(total, limits.STATE_FRACTION_BITS + synapse.exponent) + (bias << limits.STATE_FRACTION_BITS)
    largest = int(np.abs(current).max(initial=0))
    if largest > _CURRENT_MAX:
        raise BadNetwork(f"{synapse}: the input current reaches {largest} (units 2**-6), 32 bits do not hold it; lower its exponent")
    return current.astype(np.int32)


def accumulate(synapse: Synapse, messages: NDArray[np.uint8]) -> NDArray[Any]:
    """weight @ messages in exact integers, not shifted: [B, H, W, C] of the target from [B, *source]."""
    weight = synapse.weight
    fits = _largest_sum(synapse) * limits.MESSAGE_MAX <= _CURRENT_MAX
    dtype = np.int32 if fits else np.int64
    if isinstance(synapse, TransposedConvSynapse):
        return _transposed(synapse, messages)
    if not isinstance(synapse, ConvSynapse):
        return _products(weight.T[:, None, None, :].astype(dtype), messages.reshape(len(messages), weight.shape[1], 1, 1), (1, 1), (0, 0))
    inner, outer = weight.shape[1], weight.shape[0] // synapse.groups
    parts = []
    for g in range(synapse.groups):
        taps = weight[g * outer : (g + 1) * outer].transpose(1, 2, 3, 0).astype(dtype)
        parts.append(_products(taps, messages[:, g * inner : (g + 1) * inner], synapse.stride, synapse.padding))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=3)


def _grid(values: NDArray[Any]) -> NDArray[Any]:
    """[*shape] as [H, W, C]."""
    return values.transpose(1, 2, 0) if values.ndim == 3 else values.reshape(1, 1, -1)


def _largest_sum(synapse: Synapse) -> int:
    size = np.abs(synapse.weight.astype(np.int64))
    return int(size.sum()) if isinstance(synapse, TransposedConvSynapse) else int(size.reshape(len(size), -1).sum(axis=1).max(initial=0))


def _host_sum(drive: HostDrive, values: NDArray[np.uint8]) -> NDArray[np.float64]:
    """F x, [B, H, W, C], in the float network's units."""
    if drive.weight.ndim == 4:
        return _products(drive.weight.transpose(1, 2, 3, 0), values, drive.stride, drive.padding)
    return _products(drive.weight.T[:, None, None, :], values.reshape(len(values), drive.weight.shape[1], 1, 1), (1, 1), (0, 0))


def _products(weight: NDArray[Any], values: NDArray[np.uint8], stride: Pair, padding: Pair) -> NDArray[Any]:
    """[B, H, W, C_out] of weight [C_in, kH, kW, C_out] and values [B, C_in, H, W]."""
    size = [(n + 2 * p - k) // s + 1 for n, k, s, p in zip(values.shape[2:], weight.shape[1:3], stride, padding)]
    out = np.zeros((len(values), *size, weight.shape[3]), dtype=weight.dtype)
    arrays = np.ascontiguousarray(weight), np.ascontiguousarray(values), np.array([*stride, *padding], dtype=np.int64), out
    over_samples(lambda first, end: _convolve(first, end, *arrays), len(values))
    return out


@compiled
def _convolve(first: int, end: int, weight: Any, values: Any, steps: Any, out: Any) -> None:
    """out += weight * values, each output summed in the order (c, ky, kx): a float sum depends on nothing but its own terms.

    `steps` are the two strides and the two paddings.
    """
    channels, kernel_height, kernel_width, _ = weight.shape
    _, _, height, width = values.shape
    for b in range(first, end):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                total = out[b, y, x]
                for c in range(channels):
                    for ky in range(kernel_height):
                        iy = y * steps[0] - steps[2] + ky
                        if iy < 0 or iy >= height:
                            continue
                        for kx in range(kernel_width):
                            ix = x * steps[1] - steps[3] + kx
                            if ix < 0 or ix >= width or values[b, c, iy, ix] == 0:
                                continue
                            message = values[b, c, iy, ix]
                            taken = weight[c, ky, kx]
                            for o in range(len(total)):
                                total[o] += taken[o] * message


def _transposed(synapse: TransposedConvSynapse, messages: NDArray[np.uint8]) -> NDArray[np.int64]:
    """[B, H, W, C]: every message is spread over its kernel, the padding is cut off."""
    weight, (sy, sx), (py, px) = synapse.weight.astype(np.int64), synapse.stride, synapse.padding
    channels, height, width = synapse.output_shape(messages.shape[1:])
    whole = np.zeros((len(messages), height + 2 * py, width + 2 * px, channels), dtype=np.int64)
    rows, columns = messages.shape[2:]
    for c, ky, kx in np.ndindex(weight.shape[0], *weight.shape[2:]):
        hit = whole[:, ky : ky + sy * (rows - 1) + 1 : sy, kx : kx + sx * (columns - 1) + 1 : sx]
        hit += weight[c, :, ky, kx] * messages[:, c, :, :, None].astype(np.int64)
    return whole[:, py : py + height, px : px + width]
