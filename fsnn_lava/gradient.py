"""Implicit differentiation on the equilibrium (E5): the simulation is never differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fsnn_lava.equilibrium import Solution, Solver


class _Implicit(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, mapped: Tensor, rates: Tensor, product: Callable[[Tensor], Tensor], solver: Solver, report: Callable[[Solution], None]
    ) -> Tensor:
        ctx.product, ctx.solver, ctx.report = product, solver, report
        return rates.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        solution = ctx.solver.solve_affine(ctx.product, grads[0].contiguous())
        ctx.report(solution)
        return solution.value, None, None, None, None


def implicit(
    mapped: Tensor, rates: Tensor, product: Callable[[Tensor], Tensor], *, solver: Solver, report: Callable[[Solution], None]
) -> Tensor:
    """Has the value `rates`, and the gradient of the equilibrium they stand for.

    `mapped` is f(rates) with a graph to the parameters; `product(v)` is J_f^T v at `rates`. Going backward, beta with
    beta = J_f^T beta + dL/da is solved for and handed to `mapped`: dL/dtheta = beta^T df/dtheta (E5).
    """
    return _Implicit.apply(mapped, rates, product, solver, report)
