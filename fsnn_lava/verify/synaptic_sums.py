"""Compute synaptic sums, weight @ messages: exact in integers, else in float64; shares no code with the backends that it checks."""

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
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, Readout, Synapse, TransposedConvSynapse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BUSY = 0.15  # fraction of non-zero messages above which a dense float32 sum is faster than summing message by message


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Data for the sums of one synapse, computed from its weights once and freed with the synapse."""

    kernel: Tensor  # its weights in float32
    row_sum: float
    taps: dict[tuple[int, ...], Taps] = field(default_factory=dict)  # by the shape of the source, like `largest`
    largest: dict[tuple[int, ...], Floats] = field(default_factory=dict)


_PREPARED: WeakKeyDictionary[Synapse | Readout, _Prepared] = WeakKeyDictionary()


def synaptic_sum(synapse: Synapse | Readout, messages: NDArray[Any]) -> NDArray[Any]:
    """Return weight @ messages, [B, *target] from [B, *source], neither shifted nor scaled: int64 and exact for integers, else float64."""
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
    """Compute `synaptic_sum` with `weight` in place of the synapse's own, message by message."""
    return _sums(synapse, _taps(synapse, weight, messages.shape[1:]), messages)


def largest_synaptic_sum(synapse: Synapse, source: tuple[int, ...]) -> Floats:
    """Return the largest sum that one step can give, [*target], if all and only the sources with positive weights fire. Not shifted."""
    prepared = _prepared(synapse)
    if source not in prepared.largest:
        prepared.largest[source] = synaptic_sum_with(synapse, np.maximum(synapse.weight, 0), np.ones((1, *source)))[0]
    return prepared.largest[source]


def _prepared(synapse: Synapse | Readout) -> _Prepared:
    found = _PREPARED.get(synapse)
    if found is None:
        found = _PREPARED[synapse] = _Prepared(torch.from_numpy(np.asarray(synapse.weight).astype(np.float32)), synaptic_row_sum(synapse))
    return found


def _sums(synapse: Synapse | Readout, taps: Taps, messages: NDArray[Any]) -> NDArray[Any]:
    found = taps.sums(messages)
    return found if isinstance(synapse, (ConvSynapse, TransposedConvSynapse)) else found.reshape(len(messages), -1)


def _taps(synapse: Synapse | Readout, weight: NDArray[Any], source: tuple[int, ...]) -> Taps:
    """Return the operation of a synapse for the compiled sums."""
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
    """Return whether float32 holds every partial sum exactly, and enough neurons sent messages that a dense sum is faster."""
    if np.count_nonzero(messages) < _BUSY * messages.size:
        return False
    return row_sum * max(abs(int(messages.max(initial=0))), abs(int(messages.min(initial=0)))) < 2**24


def _in_float32(synapse: Synapse | Readout, kernel: Tensor, messages: NDArray[Any]) -> Ints:
    with torch.no_grad():
        return _linear_operation(synapse)(torch.from_numpy(messages.astype(np.float32)), kernel).numpy().astype(np.int64)


def _linear_operation(synapse: Synapse | Readout) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the function (messages, weight) -> weight @ messages of a synapse."""
    if isinstance(synapse, ConvSynapse):
        return partial(nnf.conv2d, stride=synapse.stride, padding=synapse.padding, dilation=synapse.dilation, groups=synapse.groups)
    if isinstance(synapse, TransposedConvSynapse):
        return partial(nnf.conv_transpose2d, stride=synapse.stride, padding=synapse.padding, output_padding=synapse.output_padding)
    return lambda messages, weight: nnf.linear(messages.flatten(1), weight)


def synaptic_row_sum(synapse: Synapse | Readout) -> float:
    """Return the largest synaptic sum of |weight| over what one target neuron can receive."""
    size = np.abs(synapse.weight.astype(np.float64))
    if isinstance(synapse, TransposedConvSynapse):  # [C_in, C_out, kH, kW]
        return float(size.sum(axis=(0, 2, 3)).max())
    return float(size.reshape(len(size), -1).sum(axis=1).max())


def synaptic_sum_fan_out(chip: ChipNetwork, synapse: Synapse) -> Ints:
    """Return how many synaptic sums a message from each source neuron enters, [*source]: their derivative with all weights 1."""
    shape = chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape
    source = torch.zeros(1, *shape, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        total = _linear_operation(synapse)(source, torch.ones(synapse.weight.shape, dtype=torch.float64)).sum()
        (found,) = torch.autograd.grad(total, source)
    return np.rint(found[0].numpy()).astype(np.int64)
