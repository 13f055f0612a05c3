"""What a solver returns, and what all solvers share: the best iterate so far, norms, and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from fsnn_lava.compiled.compiler import compiler_accepts
from fsnn_lava.compiled.vectors import vector_lengths
from fsnn_lava.errors import BadArgument

Map = Callable[[Tensor], Tensor]
Norm = Callable[[Tensor], Tensor]  # [B, ...] -> [B]
Stop = Callable[[Tensor], bool]  # which samples are solved, [B] -> whether to stop


@dataclass(frozen=True)
class Solution:
    """The best iterate of a solver, converged or not."""

    value: Tensor  # [B, ...]
    residual: Tensor  # [B] norm of f(value) - value, relative where the solver was given a scale
    steps: int  # evaluations of f
    converged: bool  # residual <= tol for every sample


def every_sample(solved: Tensor) -> bool:
    """Return whether every sample is solved: the default stopping rule for a solution."""
    return bool(solved.all())


def max_norm(difference: Tensor) -> Tensor:
    """Return the largest absolute entry of each sample, [B]: the default norm of a solution's residual."""
    return difference.abs().flatten(1).amax(1)


def lengths(vectors: Tensor, *, typical: Tensor | None = None) -> Tensor:
    """Return the divisor of a solution's residuals, [B]: the length of each sample's vector, but at least `typical`.

    By default, `typical` is the root mean square of all lengths, so that a sample whose gradient is zero is judged on the others' scale.
    """
    smallest = torch.finfo(vectors.dtype).tiny
    if typical is None and compiler_accepts(vectors) and vectors.numel() > 0:
        out = vectors.new_empty(len(vectors))
        vector_lengths(vectors.detach().flatten(1).numpy(), out.numpy(), smallest)
        return out
    length = vectors.flatten(1).norm(dim=1)
    typical = length.norm() / max(len(length), 1) ** 0.5 if typical is None else typical
    return torch.maximum(length, typical).clamp_min(smallest)


class BestIterate:
    """Keeps, per sample, the iterate with the smallest residual, and counts the evaluations of f."""

    def __init__(self, *, tol: float, norm: Norm, stop: Stop) -> None:
        self.tol, self.norm, self.stop = tol, norm, stop
        self.steps = 0
        self.value: Tensor | None = None
        self.residual = torch.empty(0)

    def update(self, value: Tensor, difference: Tensor) -> bool:
        """Record an iterate and f(value) - value; return whether to stop."""
        self.steps += 1
        residual = torch.nan_to_num(self.norm(difference), nan=torch.inf)
        if self.value is None:
            self.value, self.residual = value, residual
        else:
            better = residual < self.residual
            if bool(better.all()):
                self.value, self.residual = value, residual
            elif bool(better.any()):
                self.value = torch.where(better.view(-1, *[1] * (value.dim() - 1)), value, self.value)
                self.residual = torch.where(better, residual, self.residual)
        return self.stop(self.residual <= self.tol)

    def solution(self) -> Solution:
        """Return the best iterate as a Solution."""
        if self.value is None:
            raise BadArgument("max_steps must be at least 1")
        return Solution(self.value, self.residual, self.steps, bool((self.residual <= self.tol).all()))
