"""Fake quantisation for training: weights are rounded as they are for export, and gradients pass straight through.

The grid is that of the folded network (batch norm and input normalisation folded in): one unit per target channel, shared by all
connections into a layer up to powers of two, exactly as `quantise(..., per_channel=True)` finds it afterwards. Identity and pooling,
whose weights are not learned, are not rounded here.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from math import log2

import torch
from torch import Tensor

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.graph import INPUT
from fsnn_lava.nn.operators import Operator

# For each number of bits, the share of the largest weight that the largest integer represents; larger weights are clipped. These shares
# nearly minimise the squared error for normally distributed weights.
SHARES = {2: 0.6, 3: 0.65, 4: 0.75, 5: 0.85, 6: 0.95, 7: 1.0, 8: 1.0}


def fake_quantise(weight: Tensor, bits: int, *, step: Tensor | None = None) -> Tensor:
    """Round `weight` to integers of `bits` signed bits times `step` (by default one for all); the gradient passes straight through."""
    top = _largest_integer(bits)
    if step is None:
        step = (weight.detach().abs().max() * SHARES[bits] / top).clamp_min(torch.finfo(weight.dtype).tiny)
    rounded = torch.clamp(torch.round(weight.detach() / step), -top, top) * step
    return weight + (rounded - weight.detach())


def enable_fake_quantisation(net: FSNN, bits: int, *, per_channel: bool = True) -> None:
    """Make `net` use rounded weights everywhere; parameters, optimiser and state dict are unchanged."""
    _largest_integer(bits)
    if is_fake_quantised(net):
        raise BadArgument("the network is already fake-quantised; call disable_fake_quantisation(net) first")
    grid = QuantisationGrid(net, bits, per_channel)
    for index, stage in enumerate(net.stages):
        stage.rounding = StageRounding(grid, index) if stage.linear is not None else None
    net.readout.rounding = ReadoutRounding(bits)
    for index, feedback in enumerate(net.feedbacks):
        feedback.rounding = FeedbackRounding(grid, index)


def is_fake_quantised(net: FSNN) -> bool:
    """Return whether `net` uses rounded weights."""
    return net.readout.rounding is not None


def disable_fake_quantisation(net: FSNN) -> None:
    """Make `net` use its unrounded weights again."""
    net.readout.rounding = None
    for stage in net.stages:
        stage.rounding = None
    for feedback in net.feedbacks:
        feedback.rounding = None


@torch.no_grad()
def materialised(net: FSNN) -> FSNN:
    """Return a plain copy of a fake-quantised network with the rounded weights, to be saved and exported; `net` itself is unchanged."""
    plain = copy.deepcopy(net)
    if not is_fake_quantised(net):
        return plain
    training = plain.training
    plain.eval()
    weights = [stage.used_weight().detach().clone() for stage in plain.stages]
    readout = plain.readout.used_weight().detach().clone()
    back = [weight.detach().clone() for weight in plain.feedback_weights()]
    disable_fake_quantisation(plain)
    for stage, weight in zip(plain.stages, weights, strict=True):
        stage.weight.copy_(weight)
    plain.readout.weight.copy_(readout)
    for feedback, weight in zip(plain.feedbacks, back, strict=True):
        feedback.direction.copy_(weight)
        feedback.alpha.copy_(feedback.spectral_norm())  # so that alpha W^/||W^|| is the rounded weight itself
    return plain.train(training)


def _largest_integer(bits: int) -> int:
    if bits not in limits.WEIGHT_BITS:
        raise BadArgument(f"bits must be between {limits.WEIGHT_BITS[0]} and {limits.WEIGHT_BITS[-1]}, got {bits}")
    return 2 ** (bits - 1) - 1


@dataclass(frozen=True, eq=False)
class QuantisationGrid:
    """The grids of a network in its current state: the value of one integer step for every weight."""

    net: FSNN
    bits: int
    per_channel: bool

    def round_stage(self, index: int, weight: Tensor) -> Tensor:
        """Round a stage's stored weight to its grid."""
        stage, gain = self.net.stages[index], self.gain(index)
        layer = self.layer(self.net.graph.ends(stage.connection)[1])
        smallest = torch.finfo(weight.dtype).tiny
        step = stage.operator.per_target(layer.units * 2.0 ** layer.stage_exponents[index]) / gain.abs().clamp_min(smallest)
        return fake_quantise(weight, self.bits, step=step)

    def round_feedback(self, index: int, weight: Tensor) -> Tensor:
        """Round a feedback's weight to the grid of the layer it ends on."""
        layer = self.layer(self.net.graph.ends(self.net.graph.feedback[index])[1])
        units = layer.units * 2.0 ** layer.feedback_exponents[index]
        return fake_quantise(weight, self.bits, step=self.net.feedbacks[index].operator.per_target(units))

    @torch.no_grad()
    def gain(self, index: int) -> Tensor:
        """Return the gain of a stage, broadcastable to its weight: folded weight = weight * gain."""
        stage = self.net.stages[index]
        norm, weight = stage.norm, stage.weight
        if norm is None or norm.running_var is None:
            out = weight.new_ones(stage.operator.channels)
        else:
            out = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        gain = stage.operator.per_target(out)
        normalisation = self.net.normalisation
        if stage.connection.source != INPUT or normalisation is None:
            return gain
        channels = self.net.architecture.input_shape[0]
        entry = 1.0 / (normalisation.divisor * weight.new_tensor(normalisation.std).expand(channels))
        return gain * stage.operator.per_source(entry)

    @torch.no_grad()
    def layer(self, position: int) -> LayerGrid:
        """Return the unit of a layer and the exponents of all connections into it: 0 for the first, which is a feedback if there is one."""
        graph = self.net.graph
        stages, feedbacks = graph.stages_into[position], graph.feedbacks_into[position]
        sizes = [self._feedback_size(index) for index in feedbacks] + [self._stage_size(index) for index in stages]
        exponents = [_relative_exponent(sizes[0], size) for size in sizes]
        size = sizes[0]
        for other, exponent in zip(sizes[1:], exponents[1:], strict=True):
            size = torch.maximum(other * 2.0**-exponent, size)
        size = size if self.per_channel else size.max().expand_as(size)
        units = (size * (SHARES[self.bits] / _largest_integer(self.bits))).clamp_min(torch.finfo(size.dtype).tiny)
        back, ahead = exponents[: len(feedbacks)], exponents[len(feedbacks) :]
        return LayerGrid(units, dict(zip(feedbacks, back, strict=True)), dict(zip(stages, ahead, strict=True)))

    def _stage_size(self, index: int) -> Tensor:
        """Return the largest |folded weight| of a stage per target channel."""
        stage = self.net.stages[index]
        return _largest(stage.operator, stage.weight.detach() * self.gain(index))

    def _feedback_size(self, index: int) -> Tensor:
        """Return the largest |weight| of a feedback per target channel."""
        feedback = self.net.feedbacks[index]
        factor = feedback.limited(feedback.alpha.detach()) / feedback.spectral_norm().detach()
        return _largest(feedback.operator, feedback.direction.detach()) * factor.abs()


@dataclass(frozen=True)
class LayerGrid:
    """The value of a layer's weight unit, [C], and the exponent of the synapse of each connection."""

    units: Tensor
    feedback_exponents: dict[int, int]
    stage_exponents: dict[int, int]


def _relative_exponent(first: Tensor, other: Tensor) -> int:
    """Return the exponent of a synapse with weights up to `other`, relative to that of one with weights up to `first`."""
    small, large = float(first.max()), float(other.max())
    return round(log2(large / small)) if small > 0 and large > 0 else 0


def _largest(operator: Operator, weight: Tensor) -> Tensor:
    return weight.abs().transpose(0, operator.target_axis).flatten(1).amax(1)


@dataclass(frozen=True, eq=False)
class StageRounding:
    """Rounds the weight of one stage."""

    grid: QuantisationGrid
    index: int

    def __call__(self, weight: Tensor) -> Tensor:
        return self.grid.round_stage(self.index, weight)


@dataclass(frozen=True, eq=False)
class FeedbackRounding:
    """Rounds the weight of one feedback."""

    grid: QuantisationGrid
    index: int

    def __call__(self, weight: Tensor) -> Tensor:
        return self.grid.round_feedback(self.index, weight)


@dataclass(frozen=True, eq=False)
class ReadoutRounding:
    """Rounds the weight of the readout, which has its own grid."""

    bits: int

    def __call__(self, weight: Tensor) -> Tensor:
        return fake_quantise(weight, self.bits)
