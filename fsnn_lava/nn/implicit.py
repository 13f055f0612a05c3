"""The implicit gradient as an autograd function: the backward pass solves for beta instead of differentiating the simulation (E5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsnn_lava.solvers.solution import Solution

Solve = Callable[[Tensor], Solution]  # dL/da -> beta
Report = Callable[[Solution], None]


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
    """Return the values of `rates` with the implicit gradient of the equilibrium that they approximate.

    `mapped` is f(rates) with a graph to the parameters. In the backward pass, `solve(dL/da)` returns beta = J_f^T beta + dL/da at
    `rates`, which becomes the gradient of `mapped`: dL/dtheta = beta^T df/dtheta (E5).
    """
    return _Implicit.apply(mapped, rates, solve, report)


def with_value(implied: Tensor, value: Tensor) -> Tensor:
    """Return `value` with the gradient of `implied`."""
    return value + (implied - implied.detach())
