"""Solver: which method, how far."""

from __future__ import annotations

import torch

import fsnn_lava as fl
from fsnn_lava.solvers.gmres import gmres
from fsnn_lava.solvers.solution import lengths


def test_the_solver_goes_ahead_where_it_may_and_stops_at_half_where_it_may_not():
    torch.manual_seed(0)
    matrix, constant = 0.6 / 60**0.5 * torch.randn(60, 60, dtype=torch.float64), torch.randn(4, 60, dtype=torch.float64)
    product = lambda v: v @ matrix  # noqa: E731
    exact = torch.linalg.solve(torch.eye(60, dtype=torch.float64) - matrix.t(), constant.t()).t()
    behind = gmres(product, constant, scale=lengths(constant), tol=1e-2, max_steps=30)
    ahead = fl.Solver(tol=1e-2).solve_affine(product, constant)
    assert (ahead.value - exact).norm() < 0.8 * (behind.value - exact).norm()
    assert ahead.steps == behind.steps
    coupled = fl.Solver(tol=1e-2).solve_affine(product, constant, independent=False)
    assert float(coupled.residual.max()) <= 5e-3
    short = fl.Solver(tol=1e-9, max_steps=2).solve_affine(product, constant)
    assert not short.converged
    rest = (product(short.value) + constant - short.value).norm(dim=1) / lengths(constant)
    torch.testing.assert_close(short.residual, rest, rtol=1e-6, atol=0)  # what was not found is told as it is
