"""The implicit gradient of any graph, by autograd (E5, E13)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from fsnn_lava.compiled.compiler import compiler_accepts
from fsnn_lava.nn.coupling import WHOLE_BATCH
from fsnn_lava.nn.implicit import Report, implicit, with_value
from fsnn_lava.nn.loop_map import LoopMap
from fsnn_lava.nn.source_rates import SourceRates
from fsnn_lava.nn.trace import Trace
from fsnn_lava.solvers.solver import Solver


def attach_graph_gradient(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """Attach the gradient as `attach_gradient` does, for any graph, by autograd (E13)."""
    sources, last = SourceRates(loop.graph.sources, loop.graph.shapes), len(loop.graph.layers) - 1
    given = sources.split(attach_graph_source_gradient(trace, loop, solver, report=report, turn=turn))
    if sources.positions[-1] == last:
        return given[-1]
    implied = replace(loop, updates=False)(given)[last]
    return implied if turn else with_value(implied, trace.rates[last])


def attach_graph_source_gradient(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """Return the rates where feedback starts in a graph, joined by `SourceRates`, with the gradient of their equilibrium (E13)."""
    sources, coupling = SourceRates(loop.graph.sources, loop.graph.shapes), loop.coupling
    rates = sources.join(trace.rates)
    start = rates.detach().requires_grad_()
    mapped = sources.join(loop(sources.split(start)))
    product = lambda v: torch.autograd.grad(mapped, start, v, retain_graph=True)[0]  # noqa: E731
    whole = coupling is WHOLE_BATCH and compiler_accepts(mapped.detach())
    solve = partial(solver.solve_affine, product, independent=False, whole=whole, scale=coupling.scale, stop=coupling.stop)
    return implicit(mapped, mapped.detach() if turn else rates, solve, report=report)
