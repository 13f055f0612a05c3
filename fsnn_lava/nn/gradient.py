"""Implicit differentiation on the equilibrium (E5): the simulation is never differentiated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsnn_lava.compiled.compiler import compilable
from fsnn_lava.compiled.slopes import find_slopes, rises
from fsnn_lava.nn.chain_gradient import implicit_chain, linearised
from fsnn_lava.nn.coupling import WHOLE_BATCH
from fsnn_lava.nn.dropout import masked
from fsnn_lava.nn.loop_map import LoopMap, SourceRates
from fsnn_lava.nn.operators import Operator
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.nn.trace import Trace
from fsnn_lava.solvers.solution import Solution
from fsnn_lava.solvers.solver import Solver

Solve = Callable[[Tensor], Solution]  # dL/da -> beta
Report = Callable[[Solution], None]


def attach_gradient(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """The last layer's rates, with the gradient of the equilibrium they stand for (E5).

    `loop` is f with batch norm in its training mode (E7). Every backward solve is passed to `report`. `turn`: the value is f of the
    rates, one turn closer to the equilibrium than the rates at which f is differentiated.
    """
    if not loop.feedbacks:
        mapped = loop(trace.rates[-1])[-1]
        solve = partial(Solver(max_steps=0).solve_affine, torch.zeros_like)
        return implicit(mapped, mapped.detach() if turn else trace.rates[-1], solve, report=report)
    if loop.graph.is_chain and len(loop.stages) == 1:
        return attach_ring_gradient(trace, loop, solver, report=report, turn=turn)
    if loop.graph.is_chain and loop.coupling is WHOLE_BATCH and compilable(trace.rates[-1][:0]):
        return attach_chain_gradient(trace.rates[-1], loop, solver, report=report, turn=turn)
    return attach_graph_gradient(trace, loop, solver, report=report, turn=turn)


def attach_graph_gradient(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """The same for any graph, by autograd (E13)."""
    sources, last = SourceRates(loop.graph.sources, loop.graph.shapes), len(loop.graph.layers) - 1
    given = sources.split(attach_source_gradient(trace, loop, solver, report=report, turn=turn))
    if sources.positions[-1] == last:
        return given[-1]
    implied = replace(loop, updates=False)(given)[last]
    return implied if turn else with_value(implied, trace.rates[last])


def attach_source_gradient(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """The rates where feedback starts, as `SourceRates` joins them, with the gradient of their equilibrium: beta lives there (E13)."""
    sources, coupling = SourceRates(loop.graph.sources, loop.graph.shapes), loop.coupling
    rates = sources.join(trace.rates)
    start = rates.detach().requires_grad_()
    mapped = sources.join(loop(sources.split(start)))
    product = lambda v: torch.autograd.grad(mapped, start, v, retain_graph=True)[0]  # noqa: E731
    whole = coupling is WHOLE_BATCH and compilable(mapped.detach())
    solve = partial(solver.solve_affine, product, independent=False, whole=whole, scale=coupling.scale, stop=coupling.stop)
    return implicit(mapped, mapped.detach() if turn else rates, solve, report=report)


def with_value(implied: Tensor, value: Tensor) -> Tensor:
    """`value`, with the gradient of `implied`."""
    return value + (implied - implied.detach())


def attach_ring_gradient(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """The same for a single layer: v -> J_f^T v is W^T (sigma' v / vth), where sigma' is 0 or 1 per neuron, so no graph is needed."""
    (feedback,), (weight,), (mask,), (vth,) = loop.feedbacks, loop.weights, loop.masks.feedbacks, loop.vths
    rates, fixed, coupling = trace.rates[0], weight.detach(), loop.coupling
    own = loop.own_current()
    with torch.no_grad():
        returned = masked(mask, feedback.operator.apply(fixed, rates)) if trace.returned is None else trace.returned
        slope, gain = slopes(own, returned, mask, vth)
        value = rate_of(own + returned, vth) if turn else rates
    product = partial(feedback.operator.transpose, fixed)
    solve = partial(solver.solve_affine, product, gain=gain, scale=coupling.scale, stop=coupling.stop)
    return implicit_ring(own, weight, rates, value=value, slope=slope, mask=mask, operator=feedback.operator, solve=solve, report=report)


def attach_chain_gradient(rates: Tensor, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """The same for several layers on a CPU, without a graph of the loop."""
    own = loop.own_current()
    chain = linearised(loop, own, rates.detach())
    solve = partial(solver.solve_affine, chain.transpose, independent=False, whole=True)
    return implicit_chain(chain, loop, own, value=chain.mapped if turn else chain.rates, solve=solve, report=report)


class _Implicit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mapped: Tensor, rates: Tensor, solve: Solve, report: Report) -> Tensor:  # type: ignore[override]
        ctx.solve, ctx.report = solve, report
        return rates.view_as(rates)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        solution = ctx.solve(grads[0].contiguous())
        ctx.report(solution)
        return solution.value, None, None, None


def implicit(mapped: Tensor, rates: Tensor, solve: Solve, *, report: Report) -> Tensor:
    """`rates` in value, with the gradient of the equilibrium they stand for.

    `mapped` is f(rates) with a graph to the parameters. In the backward pass `solve(dL/da)` returns beta = J_f^T beta + dL/da at
    `rates`, which becomes the gradient of `mapped`: dL/dtheta = beta^T df/dtheta (E5).
    """
    return _Implicit.apply(mapped, rates, solve, report)


def slopes(own: Tensor, returned: Tensor, mask: Tensor | None, vth: float) -> tuple[Tensor, Tensor]:
    """sigma'/vth at the current own + returned, and that times the mask: each [B, ...]."""
    if own.dim() != 2 or not compilable(own):
        current = own + returned
        slope = rises(current, vth).to(current.dtype).div_(vth)
        return slope, slope if mask is None else slope * mask
    slope = torch.empty_like(own)
    gain = slope if mask is None else torch.empty_like(own)
    mask_or_any = slope if mask is None else mask.contiguous()  # not read without a mask
    kind = own.detach().numpy().dtype.type
    arrays = (own.detach().numpy(), returned.contiguous().numpy(), mask_or_any.numpy())
    find_slopes(*arrays, kind(vth), kind(1.0 / vth), slope.numpy(), gain.numpy(), mask is not None)
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


def implicit_ring(
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
    """As `implicit`, for f(a) = sigma((own + mask W a)/vth); gradients go to `own` and to `weight`, which is W of `operator`.

    `slope` is sigma'/vth at `rates`; what comes back has the values of `value`.
    """
    return _Ring.apply(own, weight, rates, value, slope, mask, operator, solve, report)
