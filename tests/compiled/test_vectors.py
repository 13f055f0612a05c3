"""Small vector operations where plain formulas break down: zero vectors, NaN."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.compiled.vectors import normalise, transposed_product, vector_lengths


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_zero_vector_stays_zero_and_others_get_length_1(dtype):
    zero, other = np.zeros(3, dtype), np.array([3.0, 0.0, -4.0], dtype)
    normalise(zero)
    normalise(other)
    assert not zero.any()
    np.testing.assert_allclose(other, [0.6, 0.0, -0.8], rtol=4 * np.finfo(dtype).eps)


def test_the_transposed_product_overwrites_what_was_there():
    matrix, out = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.full(3, 9.0)
    transposed_product(out, matrix, np.array([10.0, -1.0]))
    np.testing.assert_array_equal(out, [6.0, 15.0, 24.0])


def test_a_short_vector_counts_as_a_typical_one():
    vectors, out = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 1.0]]), np.empty(3)
    vector_lengths(vectors, out, 1e-30)
    typical = np.sqrt((25 + 0 + 1) / 3)
    np.testing.assert_allclose(out, [5.0, typical, typical], rtol=1e-15)
    vector_lengths(np.zeros((3, 2)), out, 1e-30)
    np.testing.assert_array_equal(out, [1e-30] * 3)
    vector_lengths(np.array([[3.0, 4.0], [np.nan, 0.0], [0.0, 1.0]]), out, 1e-30)
    assert np.isnan(out).all()  # one sample that is not finite must not pass for solved
