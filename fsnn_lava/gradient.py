"""Implicit differentiation on the equilibrium (E5): the simulation is never differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsnn_lava.equilibrium import Solution


class _Implicit(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, mapped: Tensor, rates: Tensor, solve: Callable[[Tensor], Solution], report: Callable[[Solution], None]
    ) -> Tensor:
        ctx.solve, ctx.report = solve, report
        return rates.clone()

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
