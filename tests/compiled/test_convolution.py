"""The convolution of raw values is torch's conv2d, exact in integers, and floats do not depend on the batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fsnn_lava.compiled.convolution import convolve


@pytest.mark.parametrize(("stride", "padding"), [((1, 1), (0, 0)), ((2, 1), (1, 2)), ((3, 2), (0, 1))])
def test_integers_are_exact(stride, padding):
    rng = np.random.default_rng(0)
    weight, values = rng.integers(-127, 128, (2, 3, 2, 5)).astype(np.int32), rng.integers(0, 256, (4, 2, 7, 6), dtype=np.uint8)
    kernel = torch.from_numpy(weight.transpose(3, 0, 1, 2).astype(np.float64))
    expected = torch.nn.functional.conv2d(torch.from_numpy(values.astype(np.float64)), kernel, stride=stride, padding=padding)
    found = convolve(weight, values, stride=stride, padding=padding)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.transpose(0, 3, 1, 2), expected.numpy())


def test_floats_are_the_same_bits_in_any_batch():
    rng = np.random.default_rng(1)
    weight, values = rng.normal(size=(3, 3, 3, 4)), rng.integers(0, 256, (40, 3, 5, 5), dtype=np.uint8)
    whole = convolve(weight, values, padding=(1, 1))
    np.testing.assert_array_equal(whole, np.concatenate([convolve(weight, one[None], padding=(1, 1)) for one in values]))
