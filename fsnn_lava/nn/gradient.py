"""Implicit differentiation on the equilibrium (E5): the simulation is never differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsnn_lava.compiled.compiler import compilable, compiled
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.solvers.equilibrium import Solution


class _Implicit(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, mapped: Tensor, rates: Tensor, solve: Callable[[Tensor], Solution], report: Callable[[Solution], None]
    ) -> Tensor:
        ctx.solve, ctx.report = solve, report
        return rates.view_as(rates)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        solution = ctx.solve(grads[0].contiguous())
        ctx.report(solution)
        return solution.value, None, None, None


def implicit(mapped: Tensor, rates: Tensor, solve: Callable[[Tensor], Solution], *, report: Callable[[Solution], None]) -> Tensor:
    """Has the value `rates`, and the gradient of the equilibrium they stand for.

    `mapped` is f(rates) with a graph to the parameters. Going backward, `solve(dL/da)` is beta with beta = J_f^T beta + dL/da at
    `rates`, which is handed to `mapped`: dL/dtheta = beta^T df/dtheta (E5).
    """
    return _Implicit.apply(mapped, rates, solve, report)


def slopes(own: Tensor, returned: Tensor, mask: Tensor | None, vth: float) -> tuple[Tensor, Tensor]:
    """sigma'/vth where the current is own + returned, and that times the mask: each [B, ...]. At 0 and at vth sigma is flat."""
    if own.dim() != 2 or not compilable(own):
        current = own + returned
        slope = ((current > 0.0) & (current < vth)).to(current.dtype).div_(vth)
        return slope, slope if mask is None else slope * mask
    slope = torch.empty_like(own)
    gain = slope if mask is None else torch.empty_like(own)
    first, second, third = own.detach().numpy(), returned.contiguous().numpy(), (slope if mask is None else mask.contiguous()).numpy()
    kind = first.dtype.type
    find_slopes(first, second, third, kind(vth), kind(1.0 / vth), slope.numpy(), gain.numpy(), mask is not None)
    return slope, gain


@compiled
def find_slopes(own: Any, returned: Any, mask: Any, vth: Any, steepness: Any, slope: Any, gain: Any, masked: Any) -> None:
    """For every neuron of every sample; `gain` is `slope` itself unless `masked`."""
    flat = vth - vth
    for b in range(len(own)):
        for i in range(own.shape[1]):
            current = own[b, i] + returned[b, i]
            slope[b, i] = steepness if (current > flat) & (current < vth) else flat
        if masked:
            for i in range(own.shape[1]):
                gain[b, i] = slope[b, i] * mask[b, i]


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, own: Tensor, weight: Tensor, rates: Tensor, slope: Tensor, mask: Tensor | None, feedback: RestrictedFeedback,
        solve: Callable[[Tensor], Solution], report: Callable[[Solution], None],
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(rates, slope, mask)
        ctx.feedback, ctx.solve, ctx.report = feedback, solve, report
        return rates.view_as(rates)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rates, slope, mask = ctx.saved_tensors
        solution = ctx.solve(grads[0].contiguous())
        ctx.report(solution)
        through = solution.value * slope
        for_weight = ctx.feedback.weight_gradient(rates, through if mask is None else through * mask)
        return through, for_weight, None, None, None, None, None, None


def implicit_ring(
    own: Tensor,
    weight: Tensor,
    rates: Tensor,
    *,
    slope: Tensor,
    mask: Tensor | None,
    feedback: RestrictedFeedback,
    solve: Callable[[Tensor], Solution],
    report: Callable[[Solution], None],
) -> Tensor:
    """The same for a single layer, f(a) = sigma((own + mask W a)/vth), whose products need no graph: sigma' is 0 or 1 per neuron.

    `slope` is sigma'/vth at `rates`; gradients go to `own` and to `weight`, which is one of `feedback`.
    """
    return _Ring.apply(own, weight, rates, slope, mask, feedback, solve, report)
