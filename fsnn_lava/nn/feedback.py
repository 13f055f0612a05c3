"""Feedback that contracts: the restricted weight W = alpha W^/||W^|| (E6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as nnf
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from fsnn_lava.compiled.compiler import compiler_accepts
from fsnn_lava.compiled.feedback import restrict_feedback, restrict_feedback_backward
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.initial_weight import initial_weight
from fsnn_lava.nn.operators import Operator
from fsnn_lava.nn.tracked_norm import TrackedNorm

NormKind = Literal["kernel", "operator", "loop"]
NORMS: tuple[NormKind, ...] = get_args(NormKind)


def _nothing_else() -> float:
    """Return the gain of the rest of the loop, 1, for norms that do not include it."""
    return 1.0


class RestrictedFeedback(nn.Module):
    """W = alpha W^/||W^|| with a learnable alpha kept in [-limit, limit] (E6).

    The `norm` "kernel" is the paper's: the largest singular value of the kernel as a matrix, tracked by power iteration in training.
    "operator" tracks that of the zero-padded operator itself. Both are estimates from below; only `Operator.norm_bound` is guaranteed.
    "loop" is like "operator", but `limit` bounds the gain around the loop, ||W|| prod ||F|| / vth**N, and is guaranteed after `clip_`.

    `rounding`, if set, maps W to the weight that is used.
    """

    def __init__(self, operator: Operator, *, norm: NormKind = "kernel", limit: float = 1.0) -> None:
        super().__init__()
        if norm not in NORMS:
            raise BadArgument(f"norm must be 'kernel', 'operator' or 'loop', got {norm!r}")
        if not limit > 0:
            raise BadArgument(f"limit must be positive, got {limit}")
        if norm == "loop" and not limit < 1:
            raise BadArgument(f"with norm 'loop', limit bounds the gain around the loop and must be below 1, for example 0.9; got {limit}")
        self.operator, self.norm, self.limit = operator, norm, float(limit)
        self.rounding: Callable[[Tensor], Tensor] | None = None
        self.rest_of_loop: Callable[[], float] = _nothing_else  # for "loop": the gain of everything but W; set by the network
        self._tracked = TrackedNorm()
        shape = self.operator.weight_shape
        self.direction = nn.Parameter(initial_weight(shape))
        left = shape[0] if norm == "kernel" else prod(operator.out_shape)
        self.register_buffer("singular", nnf.normalize(torch.randn(left), dim=0))
        self.singular: Tensor
        with torch.no_grad():
            for _ in range(20):
                self.iterate_()
            self.alpha = nn.Parameter(self.spectral_norm().clamp(max=self.limit).reshape(()))

    def forward(self, spikes: Tensor) -> Tensor:
        """Return the feedback current of these spikes or rates."""
        return self.operator.apply(self.weight(), spikes)

    def weight(self) -> Tensor:
        """Return the feedback weight alpha W^/||W^||, with gradients to both, rounded if the network is fake-quantised.

        In training, each call first clips an alpha that the optimiser has moved beyond its limit, and advances the power iteration by
        one step.
        """
        if self.training and torch.is_grad_enabled():
            self.clip_()
        weight = _Restricted.apply(self.direction, self.alpha, self, self.training and torch.is_grad_enabled())
        return weight if self.rounding is None else self.rounding(weight)

    @property
    def alpha_limit(self) -> float:
        """The largest |alpha|; none for "loop", where `clip_` limits the product instead."""
        return math.inf if self.norm == "loop" else self.limit

    def limited(self, alpha: Tensor) -> Tensor:
        """Return alpha clipped to [-limit, limit], or unchanged for "loop"."""
        return alpha.clamp(-self.alpha_limit, self.alpha_limit)

    @torch.no_grad()
    def clip_(self) -> None:
        """Clip alpha in place to [-limit, limit], or so that the gain around the loop is at most `limit`.

        An autograd graph that was built before stays valid, since it used the clipped value.
        """
        self.alpha.data.clamp_(-self.alpha_limit, self.alpha_limit)
        if self.norm == "loop":
            gain = self.loop_gain()
            if gain > self.limit:
                self.alpha.data.mul_(self.limit / gain * (1 - 1e-6))  # a margin for float32 rounding

    @torch.no_grad()
    def loop_gain(self) -> float:
        """Return an upper bound on ||W|| times the gain of the rest of the loop."""
        return self._tracked.bound(self.operator, self.weight()) * self.rest_of_loop()

    def spectral_norm(self) -> Tensor:
        """Return the tracked estimate of ||W^||."""
        return self.transposed_singular().norm()

    def transposed_singular(self) -> Tensor:
        """Return W^T u for the tracked left singular vector u."""
        if self.norm == "kernel":
            return self.direction.flatten(1).t() @ self.singular
        return self.operator.transpose(self.direction, self.singular.view(1, *self.operator.out_shape)).flatten()

    def norm_gradient(self, left: Tensor, right: Tensor) -> Tensor:
        """Return d||W^||/dW^ = u v^T in the shape of the feedback weight, for the singular vectors u, v."""
        if self.norm == "kernel":
            return torch.outer(left, right).view_as(self.direction)
        return self.operator.weight_gradient(right.view(1, *self.operator.in_shape), left.view(1, *self.operator.out_shape))

    def iterate_(self) -> None:
        """Advance the tracked singular vector by one step of power iteration."""
        right = nnf.normalize(self.transposed_singular(), dim=0)
        if self.norm == "kernel":
            left = self.direction.flatten(1) @ right
        else:
            left = self.operator.apply(self.direction, right.view(1, *self.operator.in_shape)).flatten()
        self.singular.copy_(nnf.normalize(left, dim=0))


class _Restricted(torch.autograd.Function):
    """Computes alpha W^/||W^|| (E6), which takes many small operations in torch, but only two compiled ones on a CPU."""

    @staticmethod
    def forward(ctx: Any, direction: Tensor, alpha: Tensor, feedback: RestrictedFeedback, iterate: bool) -> Tensor:  # type: ignore[override]
        ctx.feedback, ctx.compiled = feedback, feedback.norm == "kernel" and compiler_accepts(direction)
        if ctx.compiled:
            weight, right = torch.empty_like(direction), direction.new_empty(direction[0].numel())
            matrix, out = direction.detach().flatten(1).numpy(), weight.flatten(1).numpy()
            kind = matrix.dtype.type
            given, limit = kind(alpha.item()), kind(feedback.alpha_limit)  # in the weights' precision, so that clipped values are within it
            ctx.within, ctx.factor = abs(given) <= limit, min(max(given, -limit), limit)
            ctx.norm = kind(restrict_feedback(matrix, feedback.singular.numpy(), right.numpy(), out, ctx.factor, iterate))
        else:
            if iterate:
                feedback.iterate_()
            right = feedback.transposed_singular()
            ctx.norm = right.norm()
            weight = direction * (feedback.limited(alpha) / ctx.norm)
        ctx.save_for_backward(direction, alpha, feedback.singular.clone(), right)  # a copy, since the next forward pass changes it
        return weight

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return dL/dW^ = s (G - <G, W^>/||W^|| u v^T) with s = alpha/||W^||; alpha has a gradient as long as it is within its limit."""
        direction, alpha, left, right = ctx.saved_tensors
        feedback, grad = ctx.feedback, grads[0].contiguous()
        if ctx.compiled:
            out = torch.empty_like(grad)
            given, matrix = grad.flatten(1).numpy(), direction.detach().flatten(1).numpy()
            along = restrict_feedback_backward(given, matrix, left.numpy(), right.numpy(), out.flatten(1).numpy(), ctx.norm, ctx.factor)
            for_alpha = alpha.new_tensor(along if ctx.within else 0.0)
        else:
            along = torch.dot(grad.view(-1), direction.reshape(-1)) / ctx.norm
            scale = feedback.limited(alpha) / ctx.norm
            out = (grad * scale).add_(feedback.norm_gradient(left, right * (-along * scale / ctx.norm)))
            for_alpha = torch.where(alpha.abs() <= feedback.alpha_limit, along, torch.zeros_like(along))
        return out, for_alpha, None, None
