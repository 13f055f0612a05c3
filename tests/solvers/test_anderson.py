"""Anderson mixing against the solution of linear systems, where it must end after as many steps as there are directions."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.anderson import anderson
from fsnn_lava.solvers.damped import damped

torch.manual_seed(0)
MATRIX = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64)).Q @ torch.diag(torch.tensor([0.99, -0.9, 0.5, 0.1], dtype=torch.float64))
CONSTANT = torch.randn(3, 4, dtype=torch.float64)
EXACT = torch.linalg.solve(torch.eye(4, dtype=torch.float64) - MATRIX, CONSTANT.T).T


def affine(x):
    return x @ MATRIX.T + CONSTANT


@pytest.mark.parametrize("known", [False, True])
def test_a_system_of_four_unknowns_is_solved_in_about_as_many_steps(known):
    """With memory for all directions it is GMRES; plain mixing needs one more step to see that it has arrived, rounding another."""
    found = anderson(affine, torch.zeros(3, 4, dtype=torch.float64), memory=6, tol=1e-8, affine=known)
    assert found.converged and found.steps <= (5 if known else 7)
    # |x - x*| <= ||(I - A)^-1|| |residual|, with the largest entry instead of lengths: a factor of 2 for four entries
    most = 2 * torch.linalg.matrix_norm(torch.linalg.inv(torch.eye(4, dtype=torch.float64) - MATRIX), 2) * 1e-8
    assert (found.value - EXACT).abs().max() <= most
    assert damped(affine, torch.zeros(3, 4, dtype=torch.float64), tol=1e-8, max_steps=7).converged is False


def test_a_promise_of_linearity_saves_the_last_evaluation():
    calls = []

    def counted(x):
        calls.append(x)
        return affine(x)

    found = anderson(counted, torch.zeros(3, 4, dtype=torch.float64), memory=6, tol=1e-8, affine=True)
    assert len(calls) == found.steps
    residual = (affine(found.value) - found.value).abs().amax(1)
    torch.testing.assert_close(residual, found.residual, rtol=0, atol=1e-12)  # the residual of the point that is returned


def test_samples_do_not_see_each_other():
    together = anderson(affine, torch.zeros(3, 4, dtype=torch.float64), tol=1e-3, max_steps=4)
    alone = anderson(lambda x: x @ MATRIX.T + CONSTANT[1:2], torch.zeros(1, 4, dtype=torch.float64), tol=1e-3, max_steps=4)
    torch.testing.assert_close(together.value[1:2], alone.value, rtol=1e-9, atol=1e-9)


def test_a_solved_sample_has_no_direction_left_and_stays_finite():
    start = torch.stack([torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)])
    found = anderson(lambda x: x / 2, start, tol=1e-12)
    assert found.converged and bool(torch.isfinite(found.value).all())
    assert found.value[0].tolist() == [0.0] * 4


def test_no_memory_is_refused():
    with pytest.raises(BadArgument, match="memory must be at least 1, got 0"):
        anderson(affine, CONSTANT, memory=0)
