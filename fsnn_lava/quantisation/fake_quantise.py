"""Training through the rounding: weights are rounded as export will round them, and gradients pass straight through.

The grid is that of the folded network (batch norm and input normalisation inside), one unit per target channel, shared by the
feedback and the first layer up to a power of two: exactly what `quantise(..., per_channel=True)` finds afterwards.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from math import log2
from typing import Any

import torch
from torch import Tensor, nn

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.fsnn import FSNN

# of the largest weight: what lies beyond is cut off; near the least squared error for weights that are about normal
SHARES = {2: 0.6, 3: 0.65, 4: 0.75, 5: 0.85, 6: 0.95, 7: 1.0, 8: 1.0}


def fake_quantise(weight: Tensor, bits: int, *, step: Tensor | None = None) -> Tensor:
    """`weight` rounded to `bits` signed bits of `step` each (by default one step for all); the gradient is that of `weight`."""
    top = _top(bits)
    if step is None:
        step = (weight.detach().abs().max() * SHARES[bits] / top).clamp_min(torch.finfo(weight.dtype).tiny)
    rounded = torch.clamp(torch.round(weight.detach() / step), -top, top) * step
    return weight + (rounded - weight.detach())


def enable(net: FSNN, bits: int, *, per_channel: bool = True) -> None:
    """From here on every weight of `net` reads as rounded; parameters, optimiser and state dict are those of before."""
    _top(bits)
    if is_enabled(net):
        raise BadArgument("the network already trains through the rounding")
    grid = Grid(net, bits, per_channel)
    for position, stage in enumerate(net.stages):
        linear: Any = stage.linear
        linear.__class__ = _RoundedConv if isinstance(linear, nn.Conv2d) else _RoundedLinear
        linear.__dict__["rounding"] = (grid, position)
    readout: Any = net.readout
    readout.__class__ = _RoundedLinear
    readout.__dict__["rounding"] = (grid, -1)
    if net.feedback is not None:
        feedback: Any = net.feedback
        feedback.__class__ = _RoundedFeedback
        feedback.__dict__["rounding"] = (grid, 0)


def is_enabled(net: FSNN) -> bool:
    return "rounding" in net.readout.__dict__


@torch.no_grad()
def materialised(net: FSNN) -> FSNN:
    """A plain copy whose weights are the rounded ones: what is saved and exported. `net` trains on."""
    plain = copy.deepcopy(net)
    if not is_enabled(net):
        return plain
    training = plain.training
    plain.eval()
    weights = [stage.linear.weight.detach().clone() for stage in plain.stages]  # type: ignore[union-attr, operator]
    readout = plain.readout.weight.detach().clone()
    feedback = plain.feedback.weight().detach().clone() if plain.feedback is not None else None
    disable(plain)
    for stage, weight in zip(plain.stages, weights, strict=True):
        stage.linear.weight.copy_(weight)  # type: ignore[union-attr, operator]
    plain.readout.weight.copy_(readout)
    if plain.feedback is not None and feedback is not None:
        plain.feedback.direction.copy_(feedback)
        plain.feedback.alpha.copy_(plain.feedback.spectral_norm())  # so that alpha W^/||W^|| is the rounded weight itself
    return plain.train(training)


def disable(net: FSNN) -> None:
    """Weights read as what they are again."""
    modules: list[Any] = [net.readout, *(stage.linear for stage in net.stages)]
    for module in modules:
        if module.__dict__.pop("rounding", None) is not None:
            module.__class__ = nn.Conv2d if isinstance(module, nn.Conv2d) else nn.Linear
    if net.feedback is not None and net.feedback.__dict__.pop("rounding", None) is not None:
        net.feedback.__class__ = RestrictedFeedback


def _top(bits: int) -> int:
    if bits not in limits.WEIGHT_BITS:
        raise BadArgument(f"bits must lie in {limits.WEIGHT_BITS[0]} … {limits.WEIGHT_BITS[-1]}, got {bits}")
    return 2 ** (bits - 1) - 1


@dataclass(frozen=True, eq=False)
class Grid:
    """What one integer is worth, for every weight of a network as it now is."""

    net: FSNN
    bits: int
    per_channel: bool

    def stage(self, position: int, weight: Tensor) -> Tensor:
        """The stage's weight on the grid."""
        gain = self.gain(position, weight)
        units = self.units(position, weight)
        exponent = self.relative_exponent(weight) if position == 0 and self.net.feedback is not None else 0
        step = (units * 2.0**exponent).view(-1, *[1] * (weight.dim() - 1)) / gain.abs().clamp_min(torch.finfo(weight.dtype).tiny)
        return fake_quantise(weight, self.bits, step=step)

    def feedback(self, weight: Tensor) -> Tensor:
        """The feedback's weight on the grid of the first layer."""
        axis = 1 if self._transposed() else 0
        first: Any = self.net.stages[0].linear._parameters["weight"]  # type: ignore[union-attr]
        step = self.units(0, first).view([-1 if i == axis else 1 for i in range(weight.dim())])
        return fake_quantise(weight, self.bits, step=step)

    @torch.no_grad()
    def gain(self, position: int, weight: Tensor) -> Tensor:
        """Folded weight = weight * gain, broadcastable to the weight."""
        stage = self.net.stages[position]
        norm: Any = stage.norm
        out = weight.new_ones(len(weight)) if norm is None else norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        gain = out.view(-1, *[1] * (weight.dim() - 1))
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
        """Value of a weight unit per target channel, [C]."""
        scale = SHARES[self.bits] / _top(self.bits)
        size = (weight * self.gain(position, weight)).abs().flatten(1).amax(1)
        if position == 0 and self.net.feedback is not None:
            size = torch.maximum(size * 2.0 ** -self.relative_exponent(weight), self._feedback_size())
        size = size if self.per_channel else size.max().expand_as(size)
        return (size * scale).clamp_min(torch.finfo(weight.dtype).tiny)

    @torch.no_grad()
    def relative_exponent(self, weight: Tensor) -> int:
        """Of the first layer's synapse, relative to the feedback's."""
        forward, back = float((weight * self.gain(0, weight)).abs().max()), float(self._feedback_size().max())
        return round(log2(forward / back)) if forward > 0 and back > 0 else 0

    def _transposed(self) -> bool:
        return self.net.feedback is not None and self.net.feedback.spec.kind == "transposed"

    def _feedback_size(self) -> Tensor:
        """Largest |weight| of the feedback per target channel."""
        feedback = self.net.feedback
        if feedback is None:
            raise BadArgument("there is no feedback")
        factor = feedback.alpha.detach().clamp(-feedback.limit, feedback.limit) / feedback.spectral_norm().detach()
        size = feedback.direction.detach().abs().transpose(0, 1 if self._transposed() else 0).flatten(1).amax(1)
        return size * factor.abs()


class _RoundedLinear(nn.Linear):
    @property
    def weight(self) -> Any:  # type: ignore[override]
        return _rounded(self)


class _RoundedConv(nn.Conv2d):
    @property
    def weight(self) -> Any:  # type: ignore[override]
        return _rounded(self)


def _rounded(module: Any) -> Tensor:
    grid, position = module.__dict__["rounding"]
    weight = module._parameters["weight"]
    return fake_quantise(weight, grid.bits) if position < 0 else grid.stage(position, weight)


class _RoundedFeedback(RestrictedFeedback):
    def weight(self) -> Tensor:
        grid, _ = self.__dict__["rounding"]
        return grid.feedback(super().weight())
