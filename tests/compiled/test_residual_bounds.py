"""The compiled residual bound (E11) against the same formula in NumPy, for intervals of every shape that the comparator passes."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.compiled.residual_bounds import largest_residuals


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 5), (3, 1)])
def test_the_larger_end_of_the_interval_counts_after_clipping(shape):
    rng = np.random.default_rng(0)
    rate, charge, scale = rng.random((3, 5)), rng.normal(0, 60, (3, 5)), rng.uniform(20, 80, 5)
    low = rng.uniform(-30, 0, shape)
    high = low + rng.uniform(0, 60, shape)
    out = np.empty((3, 5))
    largest_residuals(rate, charge, scale, low, high, out)
    ends = [np.abs(np.clip(rate + (charge + end) / scale, 0, 1) - rate) for end in (low, high)]
    np.testing.assert_allclose(out, np.maximum(*ends), rtol=0, atol=1e-15)
    assert (out >= np.maximum(*ends)).all()


def test_a_rate_cannot_leave_its_range():
    """Rate 0.25: below 0 by 0.25 at most, above 1 by 0.75 at most, whatever the charge."""
    out = np.empty((1, 2))
    largest_residuals(np.full((1, 2), 0.25), np.array([[-1e6, 1e6]]), np.ones(2), np.zeros((1, 1)), np.zeros((1, 1)), out)
    np.testing.assert_allclose(out, [[0.25, 0.75]], rtol=0, atol=1e-15)
