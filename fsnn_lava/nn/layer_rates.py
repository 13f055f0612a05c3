"""Rates of every layer with a gradient: inner layers are functions of the last one's rates and of the parameters (E17)."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from fsnn_lava.nn.graph_gradient import attach_graph_source_gradient
from fsnn_lava.nn.implicit import Report, with_value
from fsnn_lava.nn.loop_map import LoopMap
from fsnn_lava.nn.source_rates import SourceRates
from fsnn_lava.nn.trace import Trace
from fsnn_lava.solvers.solver import Solver


def layer_rates(loop: LoopMap, last: Tensor) -> tuple[Tensor, ...]:
    """Return the rates of every layer; `last` are those of the last layer, which carry the implicit gradient (E5).

    The gradient of an inner layer's rates reaches the parameters directly and through `last`, where it adds to the right-hand side
    of beta's system. Batch norm's running statistics are not updated a second time.
    """
    if len(loop.graph.layers) == 1:
        return (last,)
    return (*replace(loop, updates=False)(last)[:-1], last)


def layer_rates_of_graph(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> tuple[Tensor, ...]:
    """Return the rates of every layer of any graph: functions of those where feedback starts, which carry the implicit gradient (E13)."""
    sources = SourceRates(loop.graph.sources, loop.graph.shapes)
    given = sources.split(attach_graph_source_gradient(trace, loop, solver, report=report, turn=turn))
    known = dict(zip(sources.positions, given, strict=True))
    implied = replace(loop, updates=False)(given)
    last = len(implied) - 1
    if last not in known and not turn:
        known[last] = with_value(implied[last], trace.rates[last])
    return tuple(known.get(position, rate) for position, rate in enumerate(implied))
