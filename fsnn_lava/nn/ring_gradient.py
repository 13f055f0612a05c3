"""The implicit gradient of a ring, a single layer with feedback to itself, without an autograd graph (E5)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsnn_lava.compiled.compiler import compiler_accepts
from fsnn_lava.compiled.slopes import find_slopes, rises
from fsnn_lava.nn.dropout import masked
from fsnn_lava.nn.implicit import Report, Solve
from fsnn_lava.nn.loop_map import LoopMap
from fsnn_lava.nn.operators import Operator
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.nn.trace import Trace
from fsnn_lava.solvers.solver import Solver


def attach_ring_gradient(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """Attach the gradient of a ring: J_f^T v is W^T (sigma' v / vth), where sigma' is 0 or 1 per neuron, so no autograd graph is needed."""
    (feedback,), (weight,), (mask,), (vth,) = loop.feedbacks, loop.weights, loop.masks.feedbacks, loop.vths
    rates, fixed, coupling = trace.rates[0], weight.detach(), loop.coupling
    own = loop.own_current()
    with torch.no_grad():
        returned = masked(mask, feedback.operator.apply(fixed, rates)) if trace.returned is None else trace.returned
        slope, gain = ring_slopes(own, returned, mask, vth, loop.rate_max)
        value = rate_of(own + returned, vth, loop.rate_max) if turn else rates
    product = partial(feedback.operator.transpose, fixed)
    solve = partial(solver.solve_affine, product, gain=gain, scale=coupling.scale, stop=coupling.stop)
    return _implicit_ring(own, weight, rates, value=value, slope=slope, mask=mask, operator=feedback.operator, solve=solve, report=report)


def ring_slopes(own: Tensor, returned: Tensor, mask: Tensor | None, vth: float, rate_max: float = 1.0) -> tuple[Tensor, Tensor]:
    """Return sigma'/vth of a ring's neurons at the current own + returned, and the same times the mask: each [B, ...]."""
    if own.dim() != 2 or not compiler_accepts(own):
        current = own + returned
        slope = rises(current, vth * rate_max).to(current.dtype).div_(vth)
        return slope, slope if mask is None else slope * mask
    slope = torch.empty_like(own)
    gain = slope if mask is None else torch.empty_like(own)
    mask_or_any = slope if mask is None else mask.contiguous()  # not read without a mask
    kind = own.detach().numpy().dtype.type
    arrays = (own.detach().numpy(), returned.contiguous().numpy(), mask_or_any.numpy())
    find_slopes(*arrays, kind(vth * rate_max), kind(1.0 / vth), slope.numpy(), gain.numpy(), mask is not None)
    return slope, gain


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, own: Tensor, weight: Tensor, rates: Tensor, value: Tensor, slope: Tensor, mask: Tensor | None, operator: Operator,
        solve: Solve, report: Report,
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(rates, slope, mask)
        ctx.operator, ctx.solve, ctx.report = operator, solve, report
        return value.view_as(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rates, slope, mask = ctx.saved_tensors
        solution = ctx.solve(grads[0].contiguous())
        ctx.report(solution)
        through = solution.value * slope
        for_weight = ctx.operator.weight_gradient(rates, masked(mask, through))
        return through, for_weight, None, None, None, None, None, None, None


def _implicit_ring(
    own: Tensor,
    weight: Tensor,
    rates: Tensor,
    *,
    value: Tensor,
    slope: Tensor,
    mask: Tensor | None,
    operator: Operator,
    solve: Solve,
    report: Report,
) -> Tensor:
    """Do what `implicit` does for f(a) = sigma((own + mask W a)/vth); gradients go to `own` and to `weight`, which is W of `operator`.

    `slope` is sigma'/vth at `rates`; the result has the values of `value`.
    """
    return _Ring.apply(own, weight, rates, value, slope, mask, operator, solve, report)
