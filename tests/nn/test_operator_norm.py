"""Upper bounds of operator norms (E6): the norm of the kernel as a matrix is not an upper bound."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.nn import operator_norm
from fsnn_lava.nn.operators import Convolution
from tests.nn.test_feedback import operator_matrix


def test_the_kernel_norm_underestimates_a_convolution():
    weight = np.abs(np.random.default_rng(1).normal(size=(8, 8, 5, 5)))
    kernel = np.linalg.norm(weight.reshape(8, -1), 2)
    true = np.linalg.norm(operator_matrix(Convolution(in_shape=(8, 9, 9), channels=8, kernel=(5, 5), padding=(2, 2)), weight), 2)
    assert true > 3 * kernel


@pytest.mark.parametrize(("channels", "inputs", "stride"), [(5, 3, 1), (2, 7, 1), (6, 4, 2)])
def test_the_bound_is_the_largest_singular_value_over_all_frequencies(channels, inputs, stride):
    """Every frequency's singular values, by an FFT of the padded kernel, beside the search that skips those that cannot be the largest."""
    weight = np.random.default_rng(channels).normal(size=(channels, inputs, 3, 3))
    weight[:, :, 1, 1] += 0.5
    in_shape = (inputs, 8, 6)
    phases, sizes = operator_norm._phases(weight, (stride, stride), (1, 1), in_shape[1:])
    torus = [n + k - 1 for n, k in zip(sizes, phases.shape[2:], strict=True)]
    symbols = np.fft.fft2(phases, s=torus).transpose(2, 3, 0, 1)
    largest = np.linalg.svd(symbols, compute_uv=False).max()
    bound = operator_norm.convolution_operator_norm_bound(weight, in_shape=in_shape, stride=(stride, stride), padding=(1, 1))
    assert largest <= bound <= largest * (1 + operator_norm.SLACK)


def test_the_bound_of_a_zero_kernel_is_zero():
    assert operator_norm.convolution_operator_norm_bound(np.zeros((2, 3, 3, 3)), in_shape=(3, 5, 5), stride=(1, 1), padding=(1, 1)) == 0.0
