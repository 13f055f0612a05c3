"""Norms by Lanczos's method: never below the exact ones, and the stated probability is that of an unlucky start (E18)."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.solvers.lanczos_norm import norm_bounds


def bounds_of(matrices, start=None, **options):
    stack = np.stack(matrices)
    if start is None:
        start = np.random.default_rng(1).standard_normal((len(stack), stack.shape[2]))
    return norm_bounds(
        lambda v: np.einsum("bmn,bn->bm", stack, v),
        lambda v: np.einsum("bmn,bm->bn", stack, v),
        start,
        **options,
    )


def spectra(rng):
    """Singular values that fall fast, slowly, not at all, in two clusters, and none."""
    n = int(rng.integers(1, 40))
    yield 0.8 ** np.arange(n)
    yield np.linspace(1, 0, n)
    yield np.ones(n)
    yield np.where(np.arange(n) < n // 2, 1.0, 0.999)
    yield np.zeros(n)


def test_no_bound_is_below_the_exact_norm_and_most_are_within_the_given_share():
    rng = np.random.default_rng(0)
    for _ in range(60):
        for values in spectra(rng):
            left, right = (np.linalg.qr(rng.standard_normal((len(values),) * 2))[0] for _ in range(2))
            matrix = left * values @ right
            found = bounds_of([matrix, 3 * matrix], rng.standard_normal((2, len(values))))
            exact = np.linalg.norm(matrix, 2) * np.array([1, 3])
            assert (found.lower <= exact * (1 + 1e-12)).all()
            assert (found.upper >= exact).all()
            if found.steps == len(values):  # the whole space was seen
                np.testing.assert_allclose(found.upper, exact, rtol=0.05, atol=1e-12)


@pytest.mark.parametrize("steps", range(1, 13))
def test_a_start_with_the_least_part_is_not_fooled_after_any_number_of_steps(steps):
    """The start is almost orthogonal to the largest singular vector: twice the part that a failure of 1e-6 allows it to miss."""
    size, failure = 12, 1e-6
    part = 2 * failure * np.sqrt(np.pi / (2 * size))
    start = np.full(size, np.sqrt((1 - part**2) / (size - 1)))
    start[0] = part
    values = np.concatenate([[1.0], np.linspace(0.6, 0.1, size - 1)])
    assert bounds_of([np.diag(values)], start[None], failure=failure, max_steps=steps).upper[0] >= 1.0


def test_a_start_below_the_least_part_is_what_the_probability_speaks_of():
    """Orthogonal to the largest singular vector, which therefore stays hidden: that event has probability 0, and nearly so 1e-12."""
    assert bounds_of([np.diag([1.0, 0.5, 0.4])], np.array([[0.0, 1.0, 2.0]])).upper[0] < 0.6


def test_starts_are_unlucky_no_more_often_than_stated():
    """P(|b_1| <= t) <= t sqrt(2 n / pi): with t for a tenth, at most a tenth of 20000 starts, and a little for chance (4 sigma)."""
    rng = np.random.default_rng(3)
    for size in (1, 2, 3, 10, 100):
        starts = rng.standard_normal((20000, size))
        first = np.abs(starts[:, 0]) / np.linalg.norm(starts, axis=1)
        assert np.mean(first <= 0.1 * np.sqrt(np.pi / (2 * size))) <= 0.1 + 4 * np.sqrt(0.09 / 20000)


def test_the_search_stops_early_where_only_a_side_is_asked_for():
    matrix = np.diag(np.linspace(0, 2, 200))
    assert bounds_of([matrix], enough=1.0).steps < bounds_of([matrix]).steps


def test_a_row_does_not_depend_on_the_others():
    rng = np.random.default_rng(4)
    matrices, start = [np.diag(0.5 ** np.arange(50)), np.diag(np.linspace(0, 1, 50))], rng.standard_normal((2, 50))
    both = bounds_of(matrices, start)
    for row, matrix in enumerate(matrices):
        alone = bounds_of([matrix], start[row : row + 1])
        assert (alone.lower[0], alone.upper[0]) == (both.lower[row], both.upper[row])
