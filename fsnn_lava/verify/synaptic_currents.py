"""Synaptic currents, exact in integers, else in float64; shares no code with the backends that it checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.nn.functional as nnf
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.compiled.weighted_sums import Taps
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, Layer, Readout, Synapse, TransposedConvSynapse
from fsnn_lava.limits import STATE_FRACTION_BITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BUSY = 0.15  # share of non-zero messages above which a dense float32 sum is faster than going message by message


def synaptic_shift(synapse: Synapse | Readout) -> int:
    """n = 6 + exponent: a current is 2**n (weight @ messages) in units of 2**-6, floored where n < 0 (E9)."""
    return STATE_FRACTION_BITS + synapse.exponent


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What the sums of one synapse need, computed from its weights once and freed with the synapse."""

    kernel: Tensor  # its weights in float32
    row_sum: float
    taps: dict[tuple[int, ...], Taps] = field(default_factory=dict)  # by the shape of the source, as is `largest`
    largest: dict[tuple[int, ...], Floats] = field(default_factory=dict)


_PREPARED: WeakKeyDictionary[Synapse | Readout, _Prepared] = WeakKeyDictionary()


def synaptic_sum(synapse: Synapse | Readout, messages: NDArray[Any]) -> NDArray[Any]:
    """weight @ messages, [B, *target] from [B, *source], neither shifted nor scaled: int64 and exact for integers, else float64."""
    prepared = _prepared(synapse)
    source = messages.shape[1:]
    if source not in prepared.taps:
        prepared.taps[source] = _taps(synapse, synapse.weight, source)
    taps = prepared.taps[source]
    if messages.dtype.kind != "f" and _suits_float32(prepared.row_sum, messages):
        found = _in_float32(synapse, prepared.kernel, messages)
        if np.array_equal(found[:1], _sums(synapse, taps, messages[:1])):  # a library's convolution need not be exact: try it on one sample
            return found
    return _sums(synapse, taps, messages)


def synaptic_sum_with(synapse: Synapse | Readout, weight: NDArray[Any], messages: NDArray[Any]) -> NDArray[Any]:
    """`synaptic_sum` with `weight` in place of the synapse's own, message by message."""
    return _sums(synapse, _taps(synapse, weight, messages.shape[1:]), messages)


def largest_synaptic_sum(synapse: Synapse, source: tuple[int, ...]) -> Floats:
    """[*target] the largest sum that one step can give: exactly the sources with positive weights fire. Not shifted."""
    prepared = _prepared(synapse)
    if source not in prepared.largest:
        prepared.largest[source] = synaptic_sum_with(synapse, np.maximum(synapse.weight, 0), np.ones((1, *source)))[0]
    return prepared.largest[source]


def _prepared(synapse: Synapse | Readout) -> _Prepared:
    found = _PREPARED.get(synapse)
    if found is None:
        found = _PREPARED[synapse] = _Prepared(torch.from_numpy(np.asarray(synapse.weight).astype(np.float32)), row_sum(synapse))
    return found


def _sums(synapse: Synapse | Readout, taps: Taps, messages: NDArray[Any]) -> NDArray[Any]:
    found = taps.sums(messages)
    return found if isinstance(synapse, (ConvSynapse, TransposedConvSynapse)) else found.reshape(len(messages), -1)


def _taps(synapse: Synapse | Readout, weight: NDArray[Any], source: tuple[int, ...]) -> Taps:
    """The operation of a synapse for the compiled sums."""
    if isinstance(synapse, ConvSynapse):
        split = weight.reshape(synapse.groups, -1, *weight.shape[1:])  # [groups, C_out / groups, C_in / groups, kH, kW]
        return Taps(
            weight=split.transpose(0, 2, 3, 4, 1).reshape(-1, *weight.shape[2:], split.shape[1]),
            source=_space(source),
            target=_space(synapse.output_shape(source)),
            stride=synapse.stride,
            padding=synapse.padding,
            groups=synapse.groups,
            dilation=synapse.dilation,
        )
    if isinstance(synapse, TransposedConvSynapse):
        return Taps(
            weight=weight.transpose(0, 2, 3, 1),
            source=_space(source),
            target=_space(synapse.output_shape(source)),
            stride=synapse.stride,
            padding=synapse.padding,
            transposed=True,
        )
    targets, sources = weight.shape
    return Taps(weight=weight.T[:, None, None, :], source=(sources, 1, 1), target=(targets, 1, 1))


def _space(shape: tuple[int, ...]) -> tuple[int, int, int]:
    channels, height, width = shape
    return channels, height, width


def _suits_float32(row_sum: float, messages: NDArray[Any]) -> bool:
    """Whether every partial sum is an integer that float32 holds, and enough neurons sent something that summing all of them is faster."""
    if np.count_nonzero(messages) < _BUSY * messages.size:
        return False
    return row_sum * max(abs(int(messages.max(initial=0))), abs(int(messages.min(initial=0)))) < 2**24


def _in_float32(synapse: Synapse | Readout, kernel: Tensor, messages: NDArray[Any]) -> Ints:
    with torch.no_grad():
        return _linear_operation(synapse)(torch.from_numpy(messages.astype(np.float32)), kernel).numpy().astype(np.int64)


def _linear_operation(synapse: Synapse | Readout) -> Callable[[Tensor, Tensor], Tensor]:
    """The function (messages, weight) -> weight @ messages of a synapse."""
    if isinstance(synapse, ConvSynapse):
        return partial(nnf.conv2d, stride=synapse.stride, padding=synapse.padding, dilation=synapse.dilation, groups=synapse.groups)
    if isinstance(synapse, TransposedConvSynapse):
        return partial(nnf.conv_transpose2d, stride=synapse.stride, padding=synapse.padding, output_padding=synapse.output_padding)
    return lambda messages, weight: nnf.linear(messages.flatten(1), weight)


def row_sum(synapse: Synapse | Readout) -> float:
    """The largest synaptic sum of |weight| over what one neuron of the target can receive."""
    size = np.abs(synapse.weight.astype(np.float64))
    if isinstance(synapse, TransposedConvSynapse):  # [C_in, C_out, kH, kW]
        return float(size.sum(axis=(0, 2, 3)).max())
    return float(size.reshape(len(size), -1).sum(axis=1).max())


def fan_in(synapse: Synapse | Readout) -> int:
    """The most messages that the synaptic current of one target neuron sums."""
    shape = synapse.weight.shape
    return int(np.prod(shape)) // (shape[1] if isinstance(synapse, TransposedConvSynapse) else shape[0])


def incoming_synapses(chip: ChipNetwork, layer: Layer) -> list[Synapse]:
    """Synapses from other layers (or itself) into `layer`; those from the input are part of its drive."""
    return [s for s in chip.into(layer) if s.source != INPUT]


def input_synapses(chip: ChipNetwork, layer: Layer) -> list[Synapse]:
    """Synapses from the input into `layer`."""
    return [s for s in chip.into(layer) if s.source == INPUT]


def drive_current_trace(chip: ChipNetwork, layer: Layer, values: NDArray[np.uint8], steps: int) -> Ints | Floats:
    """<D> of E10: the leak-weighted sum of the currents from bias and input over the window, [B, *shape] (or [1, *shape]), units 2**-6.

    int64 and exact for IF, float64 for a leak.
    """
    bias = layer.bias[None].astype(np.int64) << STATE_FRACTION_BITS
    synapses = input_synapses(chip, layer)
    weights = chip.leak ** np.arange(steps - 1, -1, -1, dtype=np.float64)
    if chip.input.kind == "events":
        total = _accumulated(bias, weights, chip.decay)
        for synapse in synapses:
            total = total + _events_trace(chip, synapse, values, weights)
        return total
    if layer is chip.layers[0] and chip.input.kind == "current":
        return _accumulated(input_current(chip, values).astype(np.int64), weights, chip.decay)
    for synapse in synapses:
        bias = bias + _shifted(synaptic_sum(synapse, values), synaptic_shift(synapse))
    return _accumulated(bias, weights, chip.decay)


def _events_trace(chip: ChipNetwork, synapse: Synapse, values: NDArray[np.uint8], weights: Floats) -> Ints | Floats:
    """<shift(w x[tau], n)>: every step is floored, so only a shift to the left can be moved out of the sum."""
    bits = synaptic_shift(synapse)
    if bits >= 0:
        if chip.decay == 0:
            return synaptic_sum(synapse, values.sum(axis=1, dtype=np.int64)) << bits
        return synaptic_sum(synapse, np.tensordot(weights, values.astype(np.float64), axes=(0, 1))) * 2.0**bits
    total: Any = 0
    for step, weight in enumerate(weights):
        current = _shifted(synaptic_sum(synapse, values[:, step]), bits)
        total = total + (current if chip.decay == 0 else weight * current)
    return total


def _accumulated(static: Ints, weights: Floats, decay: int) -> Ints | Floats:
    """The (leak-weighted) sum of a current that is the same in every step."""
    return static * len(weights) if decay == 0 else static.astype(np.float64) * float(weights.sum())


def _shifted(x: Ints, bits: int) -> Ints:
    return x << bits if bits >= 0 else x >> -bits


def synaptic_fan_out(chip: ChipNetwork, synapse: Synapse) -> Ints:
    """How many weights a message from each source neuron touches, [*source]: the derivative of the synaptic sum with all weights 1."""
    shape = chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape
    source = torch.zeros(1, *shape, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        total = _linear_operation(synapse)(source, torch.ones(synapse.weight.shape, dtype=torch.float64)).sum()
        (found,) = torch.autograd.grad(total, source)
    return np.rint(found[0].numpy()).astype(np.int64)
