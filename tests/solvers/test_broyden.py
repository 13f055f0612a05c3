"""Broyden's method: on linear systems of n unknowns it ends after at most 2 n steps (Gay's theorem)."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.broyden import broyden

torch.manual_seed(1)
MATRIX = torch.randn(3, 3, dtype=torch.float64) / 2
CONSTANT = torch.randn(2, 3, dtype=torch.float64)


def affine(x):
    return x @ MATRIX.T + CONSTANT


def test_a_linear_system_is_solved_within_twice_its_size():
    found = broyden(affine, torch.zeros(2, 3, dtype=torch.float64), tol=1e-9, max_steps=20)
    assert found.converged and found.steps <= 2 * 3 + 1  # the last one only looks
    torch.testing.assert_close(found.value, torch.linalg.solve(torch.eye(3, dtype=torch.float64) - MATRIX, CONSTANT.T).T)


def test_no_more_evaluations_than_allowed():
    calls = []

    def counted(x):
        calls.append(x)
        return affine(x)

    found = broyden(counted, torch.zeros(2, 3, dtype=torch.float64), tol=1e-30, max_steps=4)
    assert (len(calls), found.steps, found.converged) == (4, 4, False)


def test_at_a_fixed_point_nothing_moves_and_nothing_is_divided_by_zero():
    start = torch.zeros(1, 3, dtype=torch.float64)
    found = broyden(lambda x: x, start)
    assert (found.steps, found.converged) == (1, True)
    assert torch.equal(found.value, start)
    beside = broyden(lambda x: x * torch.tensor([[1.0], [0.25]]), torch.tensor([[3.0], [3.0]]), tol=1e-6)
    assert beside.converged and beside.value[0].item() == 3.0


def test_no_step_at_all_is_refused():
    with pytest.raises(BadArgument, match="max_steps must be at least 1"):
        broyden(affine, CONSTANT, max_steps=0)
