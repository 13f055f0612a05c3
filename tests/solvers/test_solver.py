"""Solver: which method, how far."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.gmres import gmres
from fsnn_lava.solvers.solution import lengths
from fsnn_lava.solvers.solver import LINEAR_METHODS, Solver


def test_the_solver_goes_ahead_where_it_may_and_stops_at_half_where_it_may_not():
    torch.manual_seed(0)
    matrix, constant = 0.6 / 60**0.5 * torch.randn(60, 60, dtype=torch.float64), torch.randn(4, 60, dtype=torch.float64)
    product = lambda v: v @ matrix  # noqa: E731
    exact = torch.linalg.solve(torch.eye(60, dtype=torch.float64) - matrix.t(), constant.t()).t()
    behind = gmres(product, constant, scale=lengths(constant), tol=1e-2, max_steps=30)
    ahead = Solver(tol=1e-2).solve_affine(product, constant)
    assert (ahead.value - exact).norm() < 0.8 * (behind.value - exact).norm()
    assert ahead.steps == behind.steps
    coupled = Solver(tol=1e-2).solve_affine(product, constant, independent=False)
    assert float(coupled.residual.max()) <= 5e-3
    short = Solver(tol=1e-9, max_steps=2).solve_affine(product, constant)
    assert not short.converged
    rest = (product(short.value) + constant - short.value).norm(dim=1) / lengths(constant)
    torch.testing.assert_close(short.residual, rest, rtol=1e-6, atol=0)  # what was not found is told as it is


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "newton"}, "solver method must be one of gmres, .*, got 'newton'"),
        ({"precision": "float16"}, "solver precision must be one of full, bfloat16, got 'float16'"),
        ({"tol": 0.0}, "solver tol must be positive, got 0.0"),
        ({"tol": float("nan")}, "solver tol must be positive, got nan"),
        ({"max_steps": -1}, r"solver max_steps must be 0 \(Jacobian-free\) or more, got -1"),
    ],
)
def test_a_solver_that_makes_no_sense_is_refused(options, sentence):
    with pytest.raises(BadArgument, match=sentence):
        Solver(**options)


@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_every_method_solves_with_its_gain(method):
    """x = A (g x) + b; asymmetric, so that a transpose or a forgotten gain would show."""
    matrix, gain = torch.tensor([[0.2, 0.5], [-0.1, 0.3]], dtype=torch.float64), torch.tensor([[1.0, 0.25]], dtype=torch.float64)
    constant = torch.tensor([[1.0, -2.0]], dtype=torch.float64)
    found = Solver(method=method, tol=1e-10, max_steps=200).solve_affine(lambda x: x @ matrix.T, constant, gain=gain)
    exact = torch.linalg.solve(torch.eye(2, dtype=torch.float64) - matrix * gain, constant[0])
    assert found.converged
    torch.testing.assert_close(found.value[0], exact, rtol=1e-8, atol=1e-8)


def test_without_steps_nothing_is_solved():
    def product(x):
        raise AssertionError("no product is needed")

    found = Solver(max_steps=0).solve_affine(product, torch.ones(3, 2))
    assert torch.equal(found.value, torch.ones(3, 2))
    assert (found.steps, found.converged, bool(found.residual.isnan().all())) == (0, False, True)
