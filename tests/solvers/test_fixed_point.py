"""Plain iteration: a <- f(a)."""

from __future__ import annotations

import torch

from fsnn_lava.solvers.fixed_point import fixed_point


def test_every_step_is_the_whole_way_and_the_tolerance_is_met_exactly():
    """f = a / 2 from 1: the residual of 2**-k is 2**-(k + 1), found after k + 1 evaluations."""
    start = torch.ones(1, 1, dtype=torch.float64)
    found = fixed_point(lambda a: a / 2, start, tol=2.0**-6)
    assert (found.value.item(), found.residual.item(), found.steps, found.converged) == (2.0**-5, 2.0**-6, 6, True)
    assert fixed_point(lambda a: a / 2, start, tol=2.0**-6, max_steps=5).converged is False


def test_it_stops_when_its_caller_says_so():
    found = fixed_point(lambda a: a / 2, torch.tensor([[1.0], [64.0]]), tol=1 / 16, stop=lambda solved: bool(solved.any()))
    assert (found.residual.tolist(), found.converged) == ([1 / 16, 4.0], False)
