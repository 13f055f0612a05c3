"""Fake quantisation for training: weights are rounded as in export, and gradients pass straight through.

The grid is that of the folded network (batch norm and input normalisation folded in): one unit per target channel, shared by the
feedback and the first layer up to a power of two, exactly as `quantise(..., per_channel=True)` finds it afterwards.
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

# By bits: the share of the largest weight that the largest integer represents; larger weights are clipped. Close to the least squared error
# for normally distributed weights.
SHARES = {2: 0.6, 3: 0.65, 4: 0.75, 5: 0.85, 6: 0.95, 7: 1.0, 8: 1.0}


def fake_quantise(weight: Tensor, bits: int, *, step: Tensor | None = None) -> Tensor:
    """`weight` rounded to integers of `bits` signed bits times `step` (by default one for all); the gradient passes straight through."""
    top = _largest_integer(bits)
    if step is None:
        step = (weight.detach().abs().max() * SHARES[bits] / top).clamp_min(torch.finfo(weight.dtype).tiny)
    rounded = torch.clamp(torch.round(weight.detach() / step), -top, top) * step
    return weight + (rounded - weight.detach())


def enable_fake_quantisation(net: FSNN, bits: int, *, per_channel: bool = True) -> None:
    """Make `net` use rounded weights everywhere; parameters, optimiser and state dict are unchanged."""
    _largest_integer(bits)
    if is_fake_quantised(net):
        raise BadArgument("the network is already fake-quantised; call disable() first")
    grid = QuantisationGrid(net, bits, per_channel)
    for position, stage in enumerate(net.stages):
        stage.rounding = StageRounding(grid, position)
    net.readout.rounding = ReadoutRounding(bits)
    if net.feedback is not None:
        net.feedback.rounding = FeedbackRounding(grid)


def is_fake_quantised(net: FSNN) -> bool:
    """Whether `net` uses rounded weights."""
    return net.readout.rounding is not None


def disable_fake_quantisation(net: FSNN) -> None:
    """Make `net` use its unrounded weights again."""
    net.readout.rounding = None
    for stage in net.stages:
        stage.rounding = None
    if net.feedback is not None:
        net.feedback.rounding = None


@torch.no_grad()
def materialised(net: FSNN) -> FSNN:
    """A plain copy of a fake-quantised network whose weights are the rounded ones, to be saved and exported; `net` itself is unchanged."""
    plain = copy.deepcopy(net)
    if not is_fake_quantised(net):
        return plain
    training = plain.training
    plain.eval()
    weights = [stage.used_weight().detach().clone() for stage in plain.stages]
    readout = plain.readout.used_weight().detach().clone()
    feedback = plain.feedback.weight().detach().clone() if plain.feedback is not None else None
    disable_fake_quantisation(plain)
    for stage, weight in zip(plain.stages, weights, strict=True):
        stage.linear.weight.copy_(weight)
    plain.readout.weight.copy_(readout)
    if plain.feedback is not None and feedback is not None:
        plain.feedback.direction.copy_(feedback)
        plain.feedback.alpha.copy_(plain.feedback.spectral_norm())  # so that alpha W^/||W^|| is the rounded weight itself
    return plain.train(training)


def _largest_integer(bits: int) -> int:
    if bits not in limits.WEIGHT_BITS:
        raise BadArgument(f"bits must be between {limits.WEIGHT_BITS[0]} and {limits.WEIGHT_BITS[-1]}, got {bits}")
    return 2 ** (bits - 1) - 1


@dataclass(frozen=True, eq=False)
class QuantisationGrid:
    """The value of one integer step for every weight of a network in its current state."""

    net: FSNN
    bits: int
    per_channel: bool

    def round_stage(self, position: int, weight: Tensor) -> Tensor:
        """A stage's stored weight, fake-quantised on its grid."""
        gain = self.gain(position, weight)
        units = self.units(position, weight)
        exponent = self.relative_exponent(weight) if position == 0 and self.net.feedback is not None else 0
        smallest = torch.finfo(weight.dtype).tiny
        step = self.net.stages[position].operator.per_target(units * 2.0**exponent) / gain.abs().clamp_min(smallest)
        return fake_quantise(weight, self.bits, step=step)

    def round_feedback(self, weight: Tensor) -> Tensor:
        """The feedback's weight, fake-quantised on the grid of the first layer."""
        if self.net.feedback is None:
            raise BadArgument("the network has no feedback")
        units = self.units(0, self.net.stages[0].linear.weight)
        return fake_quantise(weight, self.bits, step=self.net.feedback.operator.per_target(units))

    @torch.no_grad()
    def gain(self, position: int, weight: Tensor) -> Tensor:
        """Gain of the fake-quantised stage: folded weight = weight * gain, broadcastable to the weight."""
        stage = self.net.stages[position]
        norm = stage.norm
        if norm is None or norm.running_var is None:
            out = weight.new_ones(len(weight))
        else:
            out = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        gain = stage.operator.per_target(out)
        normalisation = self.net.normalisation
        if position > 0 or normalisation is None:
            return gain
        channels = self.net.architecture.input_shape[0]
        entry = 1.0 / (normalisation.divisor * weight.new_tensor(normalisation.std).expand(channels))
        if weight.dim() == 2:
            return gain * entry.repeat_interleave(weight.shape[1] // channels)
        return gain * entry.view(1, -1, 1, 1)

    @torch.no_grad()
    def units(self, position: int, weight: Tensor) -> Tensor:
        """Value of a weight unit of the fake-quantised stage per target channel, [C]."""
        scale = SHARES[self.bits] / _largest_integer(self.bits)
        size = (weight * self.gain(position, weight)).abs().flatten(1).amax(1)
        if position == 0 and self.net.feedback is not None:
            size = torch.maximum(size * 2.0 ** -self.relative_exponent(weight), self._feedback_size())
        size = size if self.per_channel else size.max().expand_as(size)
        return (size * scale).clamp_min(torch.finfo(weight.dtype).tiny)

    @torch.no_grad()
    def relative_exponent(self, weight: Tensor) -> int:
        """Exponent of the first layer's synapse, relative to the feedback's."""
        forward, back = float((weight * self.gain(0, weight)).abs().max()), float(self._feedback_size().max())
        return round(log2(forward / back)) if forward > 0 and back > 0 else 0

    def _feedback_size(self) -> Tensor:
        """Largest |weight| of the feedback per target channel."""
        feedback = self.net.feedback
        if feedback is None:
            raise BadArgument("the network has no feedback")
        factor = feedback.limited(feedback.alpha.detach()) / feedback.spectral_norm().detach()
        size = feedback.direction.detach().abs().transpose(0, feedback.operator.target_axis).flatten(1).amax(1)
        return size * factor.abs()


@dataclass(frozen=True, eq=False)
class StageRounding:
    """Rounds the weight of one stage."""

    grid: QuantisationGrid
    position: int

    def __call__(self, weight: Tensor) -> Tensor:
        return self.grid.round_stage(self.position, weight)


@dataclass(frozen=True, eq=False)
class FeedbackRounding:
    """Rounds the weight of the feedback."""

    grid: QuantisationGrid

    def __call__(self, weight: Tensor) -> Tensor:
        return self.grid.round_feedback(weight)


@dataclass(frozen=True, eq=False)
class ReadoutRounding:
    """Rounds the weight of the readout, which has its own grid."""

    bits: int

    def __call__(self, weight: Tensor) -> Tensor:
        return fake_quantise(weight, self.bits)
