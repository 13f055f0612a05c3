"""Damped fixed-point iteration."""

from __future__ import annotations

import torch
from torch import Tensor

from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.solution import BestIterate, Map, Norm, Solution, Stop, every_sample, max_norm


def damped(
    f: Map,
    start: Tensor,
    *,
    damping: float = 0.5,
    tol: float = 1e-5,
    max_steps: int = 200,
    norm: Norm = max_norm,
    stop: Stop = every_sample,
) -> Solution:
    """Damped iteration a <- (1 - d) a + d f(a); the paper uses d = 1/2 for N-MNIST."""
    if not 0.0 < damping <= 1.0:
        raise BadArgument(f"damping must lie in (0, 1], got {damping}")
    best, value = BestIterate(tol=tol, norm=norm, stop=stop), start
    for _ in range(max_steps):
        difference = f(value) - value
        if best.update(value, difference):
            break
        value = torch.add(value, difference, alpha=damping)
    return best.solution()
