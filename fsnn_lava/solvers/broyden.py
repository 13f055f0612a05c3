"""Broyden's method, the "good" one."""

from __future__ import annotations

import torch
from torch import Tensor

from fsnn_lava.solvers.solution import BestIterate, Map, Norm, Solution, Stop, every_sample, max_norm


def broyden(
    f: Map, start: Tensor, *, tol: float = 1e-5, max_steps: int = 200, norm: Norm = max_norm, stop: Stop = every_sample
) -> Solution:
    """Find the root of g(x) = f(x) - x by Broyden's method, sample by sample; the inverse Jacobian of g is -I plus rank-one terms."""
    best, value = BestIterate(tol=tol, norm=norm, stop=stop), start
    inverse = _InverseJacobian()
    residual = (f(value) - value).flatten(1)
    for _ in range(max_steps):
        if best.update(value, residual.view_as(value)) or best.steps == max_steps:
            break
        move = -inverse.apply(residual)
        value = value + move.view_as(value)
        after = (f(value) - value).flatten(1)
        inverse.update(move, after - residual)
        residual = after
    return best.solution()


class _InverseJacobian:
    """The inverse Jacobian -I + sum_i left_i right_i^T, each [B, n]."""

    def __init__(self) -> None:
        self.lefts: list[Tensor] = []
        self.rights: list[Tensor] = []

    def apply(self, vector: Tensor) -> Tensor:
        return self._apply(vector, self.lefts, self.rights)

    def update(self, move: Tensor, change: Tensor) -> None:
        """Add the rank-one term that makes the inverse map the residual's `change` to `move`; add none where it is undefined."""
        mapped = self.apply(change)
        right = self._apply(move, self.rights, self.lefts)  # transposed
        divisor = (move * mapped).sum(1, keepdim=True)
        usable = divisor.abs() > torch.finfo(divisor.dtype).tiny
        left = torch.where(usable, (move - mapped) / torch.where(usable, divisor, torch.ones_like(divisor)), torch.zeros_like(move))
        self.lefts.append(left)
        self.rights.append(right)

    @staticmethod
    def _apply(vector: Tensor, lefts: list[Tensor], rights: list[Tensor]) -> Tensor:
        out = -vector
        for left, right in zip(lefts, rights, strict=True):
            out = out + left * (right * vector).sum(1, keepdim=True)
        return out
