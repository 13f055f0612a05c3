"""Implicit differentiation at the equilibrium (E5); the simulation itself is never differentiated."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from fsnn_lava.compiled.compiler import compiler_accepts
from fsnn_lava.nn.chain_gradient import attach_chain_gradient
from fsnn_lava.nn.coupling import WHOLE_BATCH
from fsnn_lava.nn.graph_gradient import attach_graph_gradient
from fsnn_lava.nn.implicit import Report, implicit
from fsnn_lava.nn.loop_map import LoopMap
from fsnn_lava.nn.ring_gradient import attach_ring_gradient
from fsnn_lava.nn.trace import Trace
from fsnn_lava.solvers.solver import Solver


def attach_gradient(trace: Trace, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """Attach the implicit gradient: return the last layer's rates with the gradient of the equilibrium that they approximate (E5).

    `loop` is f with batch norm in its training mode (E7). Every backward solve is passed to `report`. With `turn`, the value is
    f of the rates, one turn closer to the equilibrium than the rates at which f is differentiated.
    """
    if not loop.feedbacks:
        mapped = loop(trace.rates[-1])[-1]
        solve = partial(Solver(max_steps=0).solve_affine, torch.zeros_like)
        return implicit(mapped, mapped.detach() if turn else trace.rates[-1], solve, report=report)
    if loop.graph.is_chain and len(loop.stages) == 1:
        return attach_ring_gradient(trace, loop, solver, report=report, turn=turn)
    if loop.graph.is_chain and loop.coupling is WHOLE_BATCH and compiler_accepts(trace.rates[-1][:0]):
        return attach_chain_gradient(trace.rates[-1], loop, solver, report=report, turn=turn)
    return attach_graph_gradient(trace, loop, solver, report=report, turn=turn)
