"""Currents that synapses make of messages, in float64 and in exact integers; shares no code with the backends, which it judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nnf
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, Layer, Readout, Synapse, TransposedConvSynapse
from fsnn_lava.limits import STATE_FRACTION_BITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def total_shift(synapse: Synapse | Readout) -> int:
    """n = 6 + exponent: a current is 2**n (weight @ messages) in units of 2**-6, floored where n < 0 (E9)."""
    return STATE_FRACTION_BITS + synapse.exponent


def weighted_sum(synapse: Synapse | Readout, messages: NDArray[Any], *, weight: NDArray[Any] | None = None) -> Floats:
    """weight @ messages, [B, *target] from [B, *source], neither shifted nor scaled. Exact where all sums stay below 2**53."""
    kernel = torch.tensor(np.asarray(synapse.weight if weight is None else weight), dtype=torch.float64)
    with torch.no_grad():
        return _linear_operation(synapse)(torch.tensor(np.asarray(messages), dtype=torch.float64), kernel).numpy()


def _linear_operation(synapse: Synapse | Readout) -> Callable[[Tensor, Tensor], Tensor]:
    """The function (messages, weight) -> weight @ messages of a synapse."""
    if isinstance(synapse, ConvSynapse):
        return partial(nnf.conv2d, stride=synapse.stride, padding=synapse.padding, groups=synapse.groups)
    if isinstance(synapse, TransposedConvSynapse):
        return partial(nnf.conv_transpose2d, stride=synapse.stride, padding=synapse.padding, output_padding=synapse.output_padding)
    return lambda messages, weight: nnf.linear(messages.flatten(1), weight)


def exact_weighted_sum(synapse: Synapse | Readout, messages: NDArray[Any]) -> Ints:
    """`weighted_sum` of integers: at most 2**17 taps of 127 times 2**16 spikes or 2**24 of message stay below 2**53."""
    return np.rint(weighted_sum(synapse, messages)).astype(np.int64)


def row_sum(synapse: Synapse | Readout) -> float:
    """The largest sum of |weight| over what one neuron of the target can receive."""
    size = np.abs(synapse.weight.astype(np.float64))
    if isinstance(synapse, TransposedConvSynapse):  # [C_in, C_out, kH, kW]
        return float(size.sum(axis=(0, 2, 3)).max())
    return float(size.reshape(len(size), -1).sum(axis=1).max())


def fan_in(synapse: Synapse | Readout) -> int:
    """The most messages that one neuron of the target sums."""
    shape = synapse.weight.shape
    return int(np.prod(shape)) // (shape[1] if isinstance(synapse, TransposedConvSynapse) else shape[0])


def incoming_synapses(chip: ChipNetwork, layer: Layer) -> list[Synapse]:
    """Synapses from other layers (or itself) into `layer`; those from the input are part of its drive."""
    return [s for s in chip.into(layer) if s.source != INPUT]


def drive_trace(chip: ChipNetwork, layer: Layer, values: NDArray[np.uint8], steps: int) -> Ints | Floats:
    """<D> of E10: the leak-weighted sum over the window of bias and input, [B, *shape] (or [1, *shape]), units 2**-6.

    int64 and exact for IF, float64 for a leak.
    """
    bias = layer.bias.astype(np.int64) << STATE_FRACTION_BITS
    synapse = next((s for s in chip.into(layer) if s.source == INPUT), None)
    weights = chip.leak ** np.arange(steps - 1, -1, -1, dtype=np.float64)
    if synapse is not None and chip.input.kind == "events":
        return _events_trace(chip, synapse, values, weights) + _accumulated(bias[None], weights, chip.decay)
    if synapse is not None:
        static = _shifted(exact_weighted_sum(synapse, values), total_shift(synapse)) + bias
    elif layer is chip.layers[0] and chip.input.kind == "current":
        static = input_current(chip, values).astype(np.int64)
    else:
        static = bias[None]
    return _accumulated(static, weights, chip.decay)


def _events_trace(chip: ChipNetwork, synapse: Synapse, values: NDArray[np.uint8], weights: Floats) -> Ints | Floats:
    """<shift(w x[tau], n)>: every step is floored, so only a shift to the left can be moved out of the sum."""
    bits = total_shift(synapse)
    if bits >= 0:
        if chip.decay == 0:
            return exact_weighted_sum(synapse, values.sum(axis=1, dtype=np.int64)) << bits
        return weighted_sum(synapse, np.tensordot(weights, values.astype(np.float64), axes=(0, 1))) * 2.0**bits
    total: Any = 0
    for step, weight in enumerate(weights):
        current = _shifted(exact_weighted_sum(synapse, values[:, step]), bits)
        total = total + (current if chip.decay == 0 else weight * current)
    return total


def _accumulated(static: Ints, weights: Floats, decay: int) -> Ints | Floats:
    """The (leak-weighted) sum of a current that is the same in every step."""
    return static * len(weights) if decay == 0 else static.astype(np.float64) * float(weights.sum())


def _shifted(x: Ints, bits: int) -> Ints:
    return x << bits if bits >= 0 else x >> -bits


def message_fan_out(chip: ChipNetwork, synapse: Synapse) -> Ints:
    """How many weights a message from each source neuron touches, [*source]: the derivative of the sum with all weights 1."""
    shape = chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape
    source = torch.zeros(1, *shape, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        total = _linear_operation(synapse)(source, torch.ones(synapse.weight.shape, dtype=torch.float64)).sum()
        (found,) = torch.autograd.grad(total, source)
    return np.rint(found[0].numpy()).astype(np.int64)
