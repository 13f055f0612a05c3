"""Plain fixed-point iteration."""

from __future__ import annotations

from torch import Tensor

from fsnn_lava.solvers.damped import damped
from fsnn_lava.solvers.solution import Map, Norm, Solution, Stop, every_sample, max_norm


def fixed_point(
    f: Map, start: Tensor, *, tol: float = 1e-5, max_steps: int = 200, norm: Norm = max_norm, stop: Stop = every_sample
) -> Solution:
    """Iterate a <- f(a) until `norm` of the change is at most `tol`."""
    return damped(f, start, damping=1.0, tol=tol, max_steps=max_steps, norm=norm, stop=stop)
