"""Space to depth: rewrite a network with transposed convolutions as one with plain convolutions, its neurons packed into a coarser grid.

A layer packed with factor (f, g) has neuron (c, y, x) in channel ((y % f) * g + x % g) * C + c at (y // f, x // g). Between such
grids, a transposed convolution of stride s is a convolution from factor f to factor s f with shared weights, which Loihi's convolution
supports; a convolution between packed grids stays a convolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, HostDrive, Layer, Synapse, TransposedConvSynapse

Pair = tuple[int, int]
Shape = tuple[int, ...]
Factors = Mapping[str, Pair]  # by layer
Convolution = ConvSynapse | TransposedConvSynapse | HostDrive


class Tap(NamedTuple):
    """Along one axis, kernel tap `tap` connects phase `source` to phase `target`; source position = stride * target position + offset."""

    target: int
    source: int
    tap: int
    offset: int


def space_to_depth(chip: ChipNetwork) -> tuple[ChipNetwork, Factors]:
    """Return the network without transposed convolutions, and each layer's factor; `unpacked` restores the order of its results.

    If the size of some layer is not a multiple of its factor, the network is returned unchanged, with all factors 1.
    """
    factors = _factors(chip)
    if factors is None:
        return chip, {layer.name: (1, 1) for layer in chip.layers}
    layers = tuple(_packed_layer(layer, factors[layer.name]) for layer in chip.layers)
    synapses = tuple(_packed_synapse(chip, synapse, factors) for synapse in chip.synapses)
    order = _order(chip.layers[-1].shape, factors[chip.layers[-1].name])
    readout = replace(chip.readout, weight=chip.readout.weight[:, order])
    drive = _packed_drive(chip, factors[chip.layers[0].name])
    return replace(chip, layers=layers, synapses=synapses, readout=readout, host_drive=drive), factors


def packed(values: NDArray[Any], shape: Shape, factor: Pair) -> NDArray[Any]:
    """Pack space into depth: [..., C, H, W] becomes [..., f g C, H / f, W / g]."""
    if factor == (1, 1):
        return values
    lead = values.shape[: values.ndim - 3]
    (channels, height, width), (f, g) = shape, factor
    split = values.reshape(*lead, channels, height // f, f, width // g, g)
    axes = [len(lead) + i for i in (2, 4, 0, 1, 3)]
    return split.transpose(*range(len(lead)), *axes).reshape(*lead, f * g * channels, height // f, width // g)


def unpacked(values: NDArray[Any], shape: Shape, factor: Pair) -> NDArray[Any]:
    """Undo space to depth: the inverse of `packed` returns [..., *shape]."""
    if factor == (1, 1):
        return values
    lead = values.shape[: values.ndim - 3]
    (channels, height, width), (f, g) = shape, factor
    split = values.reshape(*lead, f, g, channels, height // f, width // g)
    axes = [len(lead) + i for i in (2, 3, 0, 4, 1)]
    return split.transpose(*range(len(lead)), *axes).reshape(*lead, *shape)


def _factors(chip: ChipNetwork) -> Factors | None:
    """Return the smallest factors for which every transposed convolution becomes a convolution; None if there are none."""
    found: dict[str, list[int]] = {layer.name: [1, 1] for layer in chip.layers}
    for _ in range(2 * len(chip.layers) + 2):
        before = {name: list(pair) for name, pair in found.items()}
        for synapse in chip.synapses:
            if isinstance(synapse, ConvSynapse | TransposedConvSynapse):
                for axis in range(2):
                    _widen(found, synapse, axis)
        if found == before:
            break
    else:
        return None
    for layer in chip.layers:
        if any(size % f for size, f in zip(layer.shape[1:], found[layer.name], strict=False)):
            return None
    return {name: (pair[0], pair[1]) for name, pair in found.items()}


def _widen(found: dict[str, list[int]], synapse: ConvSynapse | TransposedConvSynapse, axis: int) -> None:
    stride, source = synapse.stride[axis], 1 if synapse.source == INPUT else found[synapse.source][axis]
    need = stride * source if isinstance(synapse, TransposedConvSynapse) else source // gcd(source, stride)
    found[synapse.target][axis] = lcm(found[synapse.target][axis], need)


def _order(shape: Shape, factor: Pair) -> NDArray[np.int64]:
    """Return the index of the original neuron at each position of the packed layer, [n]."""
    index = np.arange(int(np.prod(shape)))
    return index if len(shape) == 1 else packed(index.reshape(shape), shape, factor).reshape(-1)


def _packed_layer(layer: Layer, factor: Pair) -> Layer:
    if factor == (1, 1):
        return layer
    bias, times = packed(layer.bias, layer.shape, factor), factor[0] * factor[1]
    threshold = np.tile(layer.threshold, times) if layer.threshold.ndim else layer.threshold
    scale = np.tile(layer.scale, times) if layer.scale.ndim else layer.scale
    return replace(layer, shape=bias.shape, bias=bias, threshold=threshold, scale=scale)


def _packed_synapse(chip: ChipNetwork, synapse: Synapse, factors: Factors) -> Synapse:
    shape = chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape
    before = (1, 1) if synapse.source == INPUT else factors[synapse.source]
    if not isinstance(synapse, ConvSynapse | TransposedConvSynapse):
        return replace(synapse, weight=synapse.weight[:, _order(shape, before)])
    after = factors[synapse.target]
    if isinstance(synapse, ConvSynapse) and before == after == (1, 1):
        return synapse
    return _convolution(synapse, shape, chip.layer(synapse.target).shape, before, after)


def _packed_drive(chip: ChipNetwork, factor: Pair) -> HostDrive | None:
    drive = chip.host_drive
    if drive is None or factor == (1, 1):
        return drive
    shape = chip.layers[0].shape
    kernel, stride, padding = _packed_kernel(drive.weight, drive, chip.input.shape, shape, (1, 1), factor)
    return HostDrive(weight=kernel, bias=packed(drive.bias, shape, factor), stride=stride, padding=padding)


def _convolution(synapse: ConvSynapse | TransposedConvSynapse, source: Shape, target: Shape, before: Pair, after: Pair) -> ConvSynapse:
    """Return the connection as one convolution between packed grids."""
    weight, stride, padding = _packed_kernel(kernel_by_target(synapse, source[0]), synapse, source, target, before, after)
    return ConvSynapse(
        source=synapse.source, target=synapse.target, exponent=synapse.exponent, weight=weight, stride=stride, padding=padding
    )


def _packed_kernel(
    kernel: NDArray[Any], geometry: Convolution, source: Shape, target: Shape, before: Pair, after: Pair
) -> tuple[NDArray[Any], Pair, Pair]:
    """Return the kernel [f g C_out, f' g' C_in, kH, kW], stride and padding between packed grids; `kernel` is [C_out, C_in, kH, kW]."""
    axes = [_axis(geometry, i, before[i], after[i], source[i + 1] // before[i], target[i + 1] // after[i]) for i in range(2)]
    (row_taps, height, top, down), (column_taps, width, left, right) = axes
    weight = np.zeros((*after, target[0], *before, source[0], height, width), dtype=kernel.dtype)
    for row in row_taps:
        for column in column_taps:
            ends = (row.target, column.target, slice(None), row.source, column.source, slice(None))
            place = (*ends, row.offset + top, column.offset + left)
            weight[place] = kernel[:, :, row.tap, column.tap]
    whole = weight.reshape(after[0] * after[1] * target[0], before[0] * before[1] * source[0], height, width)
    return whole, (down, right), (top, left)


def kernel_by_target(synapse: ConvSynapse | TransposedConvSynapse, channels: int) -> NDArray[np.int8]:
    """Return the kernel of a synapse as [C_out, C_in, kH, kW], with groups expanded."""
    if isinstance(synapse, TransposedConvSynapse):
        return synapse.weight.transpose(1, 0, 2, 3)
    out, inner, *kernel = synapse.weight.shape
    whole = np.zeros((out, channels, *kernel), dtype=np.int8)
    groups = channels // inner
    for group in range(groups):
        rows = slice(group * out // groups, (group + 1) * out // groups)
        whole[rows, group * inner : (group + 1) * inner] = synapse.weight[rows]
    return whole


def _axis(geometry: Convolution, axis: int, before: int, after: int, size: int, wanted: int) -> tuple[list[Tap], int, int, int]:
    """Return the taps, kernel length, padding and stride along one axis, from `size` positions to `wanted`."""
    stride, padding, length = geometry.stride[axis], geometry.padding[axis], geometry.weight.shape[axis + 2]
    if isinstance(geometry, TransposedConvSynapse):
        taps, step = _spread(stride, padding, length, before, after), after // (stride * before)
    else:
        dilation = geometry.dilation[axis] if isinstance(geometry, ConvSynapse) else 1
        taps, step = _gather(stride, padding, dilation, length, before, after), stride * after // before
    pad = max(0, -min(tap.offset for tap in taps))
    kernel = max(tap.offset for tap in taps) + pad + 1
    while (size + 2 * pad - kernel) // step + 1 < wanted or kernel < 1:
        pad, kernel = pad + 1, kernel + 1
    while (size + 2 * pad - kernel) // step + 1 > wanted:
        kernel += 1
    return taps, kernel, pad, step


def _gather(stride: int, padding: int, dilation: int, length: int, before: int, after: int) -> list[Tap]:
    """Return the taps of a convolution: before * Y_in + a = stride * (after * Y_out + b) + dilation * k - padding."""
    taps = []
    for b in range(after):
        for k in range(length):
            place = stride * b + dilation * k - padding
            taps.append(Tap(b, place % before, k, place // before))
    return taps


def _spread(stride: int, padding: int, length: int, before: int, after: int) -> list[Tap]:
    """Return the taps of a transposed convolution: after * Y_out + b = stride * (before * Y_in + a) + k - padding."""
    taps = []
    for b in range(after):
        for a in range(before):
            for k in range(length):
                place = b + padding - k - stride * a
                if place % (stride * before) == 0:
                    taps.append(Tap(b, a, k, place // (stride * before)))
    return taps
