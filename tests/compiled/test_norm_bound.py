"""The eigenvalue that Lanczos's method can have missed, against the orthonormal polynomials computed from the eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.compiled.norm_bound import hidden_eigenvalues

STEPS = 6


def tridiagonal(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Diagonal and off-diagonal of a positive semi-definite matrix; the last off-diagonal entry leads out of it."""
    return rng.uniform(0.5, 2.0, STEPS), rng.uniform(0.05, 0.4, STEPS)


def weight_at(value: float, diagonal: np.ndarray, beside: np.ndarray) -> float:
    """Sum of p_j(value)**2 for j = 0 … STEPS: p is what (1, 0, …) T = value p leaves, solved as a linear system."""
    matrix = np.zeros((STEPS, STEPS + 1))
    for j in range(STEPS):
        matrix[j, j] = diagonal[j] - value
        matrix[j, j + 1] = beside[j]
        if j:
            matrix[j, j - 1] = beside[j - 1]
    rest = np.linalg.solve(matrix[:, 1:], -matrix[:, 0])  # p_0 = 1
    return 1.0 + float(rest @ rest)


@pytest.mark.parametrize("most", [1e3, 1e12, 1e24])
def test_the_value_is_where_the_polynomials_reach_their_limit(most):
    rng = np.random.default_rng(0)
    parts = [tridiagonal(rng) for _ in range(5)]
    diagonal, beside = (np.stack(rows) for rows in zip(*parts, strict=True))
    dense = [np.diag(d) + np.diag(b[:-1], 1) + np.diag(b[:-1], -1) for d, b in parts]
    lowest = np.array([np.linalg.eigvalsh(matrix)[-1] for matrix in dense])
    out = np.empty(len(lowest))
    hidden_eigenvalues(lowest, diagonal, beside, STEPS, most, out)
    assert (out >= lowest).all()
    for value, least, (d, b) in zip(out, lowest, parts, strict=True):
        assert weight_at(value * (1 + 1e-6), d, b) > most
        assert value == pytest.approx(least, rel=1e-6) or weight_at(value * (1 - 1e-6), d, b) < most


def test_a_space_that_was_seen_completely_hides_nothing():
    """The last off-diagonal entry is 0: the polynomials are infinite beside every eigenvalue, so the bound is the largest one."""
    diagonal, beside, out = np.array([[2.0, 1.0]]), np.array([[0.5, 0.0]]), np.empty(1)
    largest = np.linalg.eigvalsh([[2.0, 0.5], [0.5, 1.0]])[-1]
    hidden_eigenvalues(np.array([largest]), diagonal, beside, 2, 1e20, out)
    assert out[0] == pytest.approx(largest, rel=1e-8) and out[0] >= largest


def test_the_zero_operator_has_a_bound_of_almost_nothing():
    out = np.empty(1)
    hidden_eigenvalues(np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)), 1, 1e20, out)
    assert 0.0 <= out[0] < 1e-200
