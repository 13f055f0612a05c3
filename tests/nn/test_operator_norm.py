"""Upper bounds of operator norms (E6): the norm of the kernel as a matrix is not an upper bound."""

from __future__ import annotations

import numpy as np

from fsnn_lava.nn.operators import Convolution
from tests.nn.test_feedback import operator_matrix


def test_the_kernel_norm_underestimates_a_convolution():
    weight = np.abs(np.random.default_rng(1).normal(size=(8, 8, 5, 5)))
    kernel = np.linalg.norm(weight.reshape(8, -1), 2)
    true = np.linalg.norm(operator_matrix(Convolution(in_shape=(8, 9, 9), channels=8, kernel=(5, 5), padding=(2, 2)), weight), 2)
    assert true > 3 * kernel
