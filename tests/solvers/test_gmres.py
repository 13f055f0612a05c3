"""GMRES solves the gradient's linear system (E5), and reports success only if it did."""

import math

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.solvers import gmres as krylov
from fsnn_lava.solvers.gmres import gmres, gmres_over_batch
from fsnn_lava.solvers.solution import lengths


@pytest.mark.parametrize("memory", [3, 10, 40])  # begun anew often, seldom, never
def test_gmres_solves_the_linear_system_and_reports_its_residual(memory):
    torch.manual_seed(0)
    matrix = 0.9 / 40**0.5 * torch.randn(5, 40, 40, dtype=torch.float64)
    constant = torch.randn(5, 40, dtype=torch.float64)
    constant[2] = 0  # a sample without gradient

    def product(v):
        return (matrix @ v[..., None])[..., 0]

    for tol, max_steps in ((1e-10, 400), (1e-2, 400), (1e-10, 7)):
        solution = gmres(product, constant, scale=lengths(constant), memory=memory, tol=tol, max_steps=max_steps)
        rest = (product(solution.value) + constant - solution.value).norm(dim=1) / lengths(constant)
        torch.testing.assert_close(solution.residual, rest, rtol=1e-6, atol=1e-14)
        assert solution.converged == (max_steps == 400) == bool((rest <= 1.0001 * tol).all())
        assert solution.steps <= max_steps


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-12, 1e-20, 1e-24, 1e-36])
def test_samples_that_are_solved_at_once_stay_so_beside_one_that_takes_long(size):
    """What remains of them, or they themselves, may be so short that squares vanish in float32."""
    torch.manual_seed(0)
    matrix = torch.zeros(12, 40, 40)
    for sample in range(1, 12):  # the space of each is used up after so many products
        matrix[sample, :sample, :sample] = 0.4 / sample**0.5 * torch.randn(sample, sample)
    matrix[0] = 0.97 * torch.linalg.qr(torch.randn(40, 40))[0]
    constant = torch.randn(12, 40)
    constant[1:] *= size * (matrix[1:] != 0).any(2)

    def product(v):
        return (matrix @ v[..., None])[..., 0]

    solution = gmres(product, constant, scale=lengths(constant), tol=5e-3, max_steps=30)
    rest = (product(solution.value) + constant - solution.value).norm(dim=1) / lengths(constant)
    assert solution.steps > 10, "begun anew"
    torch.testing.assert_close(solution.residual, rest, rtol=1e-3, atol=1e-6)
    assert bool((rest[1:] < 1e-6).all())


def test_gmres_says_that_a_system_has_no_solution():
    constant = torch.tensor([[1.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    factor = torch.tensor([1.0, 0.5, 1.0])[:, None]  # x = x + b has none
    solution = gmres(lambda v: factor * v, constant, scale=lengths(constant), max_steps=30)
    assert not solution.converged
    torch.testing.assert_close(solution.residual * lengths(constant), torch.tensor([5.0**0.5, 0.0, 0.0]))
    torch.testing.assert_close(solution.value[1:], torch.tensor([[6.0, 0.0], [0.0, 0.0]]))


def test_gmres_in_parts_is_gmres():
    torch.manual_seed(0)
    matrix, constant = 0.4 / 16 * torch.randn(256, 256, dtype=torch.float64), torch.randn(40, 256, dtype=torch.float64)
    scale, gain = lengths(constant), torch.rand(40, 256, dtype=torch.float64)
    options = {"scale": scale, "gain": gain, "ahead": False, "tol": 1e-9, "max_steps": 60}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(krylov, "NUMBERS_AT_ONCE", 1)
        parts = krylov.gmres_in_parts(lambda v: v @ matrix, constant, **options)
    whole = gmres(lambda v: v @ matrix, constant, **options)
    assert parts.converged
    assert whole.converged
    assert parts.steps == whole.steps
    torch.testing.assert_close(parts.value, whole.value, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close((gain * whole.value) @ matrix + constant, whole.value, rtol=0, atol=1e-7)


@pytest.mark.parametrize("memory", [2, 10])
@pytest.mark.parametrize("tol", [0.5, 1e-2, 1e-6])
def test_gmres_goes_one_plain_iteration_ahead_without_a_product(memory, tol):
    torch.manual_seed(0)
    matrix, constant = 0.6 / 6**0.5 * torch.randn(6, 6, dtype=torch.float64), torch.randn(4, 6, dtype=torch.float64)
    gain = torch.rand(4, 6, dtype=torch.float64)
    products = []

    def product(v):
        products.append(v)
        return v @ matrix

    options = {"scale": lengths(constant), "gain": gain, "memory": memory, "tol": tol, "max_steps": 60}
    behind, ahead = gmres(product, constant, **options), gmres(product, constant, ahead=True, **options)
    assert len(products) == 2 * behind.steps
    assert torch.equal(behind.residual, ahead.residual), "told is the residual before"
    torch.testing.assert_close(ahead.value, (gain * behind.value) @ matrix + constant, rtol=1e-12, atol=1e-12)


def test_gmres_needs_no_more_products_than_anderson():
    torch.manual_seed(0)
    matrix, constant = 0.6 / 60**0.5 * torch.randn(60, 60, dtype=torch.float64), torch.randn(4, 60, dtype=torch.float64)
    steps = [fl.Solver(method=m, tol=1e-6).solve_affine(lambda v: v @ matrix, constant).steps for m in ("gmres", "anderson")]
    assert steps[0] <= steps[1] < 30


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("bad", [torch.inf, torch.nan, 1e20])  # the square of the last is infinite in float32
def test_what_is_too_large_for_numbers_is_not_solved(bad, ahead):
    constant = torch.tensor([[1.0, 2.0], [bad, bad]])
    options = {"scale": lengths(constant), "gain": None, "ahead": ahead, "tol": 1e-2, "max_steps": 30}
    for solver in (gmres, krylov.gmres_in_parts):
        solution = solver(lambda v: 0.5 * v, constant, **options)
        assert not solution.converged
        assert not bool(solution.value.isfinite().all())


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 2, 4)])
def test_a_product_that_couples_the_samples_is_solved_for_all_of_them_together(shape):
    generator = torch.Generator().manual_seed(3)
    size = math.prod(shape)
    matrix = torch.randn(size, size, dtype=torch.float64, generator=generator) / (3 * size**0.5)
    constant = torch.randn(shape, dtype=torch.float64, generator=generator)
    seen = []

    def product(x):
        seen.append(x.shape)
        return (matrix @ x.reshape(-1)).view(shape)

    scale = constant.flatten(1).norm(dim=1)
    found = gmres_over_batch(product, constant, scale=scale, ahead=False, tol=1e-10, max_steps=100)
    assert found.converged
    assert found.residual.shape == (shape[0],)
    assert set(seen) == {constant.shape}
    exact = torch.linalg.solve(torch.eye(size, dtype=torch.float64) - matrix, constant.reshape(-1)).view(shape)
    # |x - x*| <= |residual| / (1 - |A|), and |A| is below 2/3 + 0.1 for such a matrix
    assert (found.value - exact).norm() <= 1e-10 * scale.norm() / (1 - torch.linalg.matrix_norm(matrix, 2))
