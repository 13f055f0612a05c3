"""weight @ messages as the comparator computes it, compared with torch in float64 and with numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as nnf

from fsnn_lava.compiled.weighted_sums import Taps

SHAPES = [((1, 1), (0, 0)), ((2, 1), (1, 2)), ((3, 2), (2, 0))]


@pytest.mark.parametrize(("stride", "padding"), SHAPES)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution_sums_what_torch_sums(stride, padding, groups):
    rng = np.random.default_rng(1)
    weight, messages = rng.integers(-127, 128, (6, 4 // groups, 3, 2)), rng.integers(0, 9, (3, 4, 7, 6))
    expected = nnf.conv2d(torch.tensor(messages).double(), torch.tensor(weight).double(), None, stride, padding, 1, groups).numpy()
    split = weight.reshape(groups, 6 // groups, 4 // groups, 3, 2).transpose(0, 2, 3, 4, 1).reshape(4, 3, 2, 6 // groups)
    taps = Taps(weight=split, source=(4, 7, 6), target=expected.shape[1:], stride=stride, padding=padding, groups=groups)
    found = taps.sums(messages)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(taps.sums(messages.astype(np.float64)), expected)  # integers: exact in floats too


@pytest.mark.parametrize(("stride", "padding"), SHAPES)
def test_a_transposed_convolution_sums_what_torch_sums(stride, padding):
    rng = np.random.default_rng(2)
    weight, messages = rng.integers(-127, 128, (4, 5, 3, 4)), rng.integers(0, 9, (2, 4, 4, 5))
    expected = nnf.conv_transpose2d(torch.tensor(messages).double(), torch.tensor(weight).double(), None, stride, padding).numpy()
    taps = Taps(
        weight=weight.transpose(0, 2, 3, 1), source=(4, 4, 5), target=expected.shape[1:], stride=stride, padding=padding, transposed=True
    )
    np.testing.assert_array_equal(taps.sums(messages), expected)


def test_sums_beyond_32_bits_are_exact():
    """2 x 127 x 2**24 does not fit into int32; 2**24 + 1 does not fit into float32."""
    taps = Taps(weight=np.array([127, 127], np.int8).reshape(2, 1, 1, 1), source=(2, 1, 1), target=(1, 1, 1))
    assert taps.sums(np.array([[2**24, 2**24 + 1]])).item() == 127 * (2**25 + 1)
    assert taps.sums(np.array([[-(2**24), 1]])).item() == 127 * (1 - 2**24)


def test_messages_may_be_bytes_or_booleans():
    taps = Taps(weight=np.array([3, -5], np.int8).reshape(2, 1, 1, 1), source=(2, 1, 1), target=(1, 1, 1))
    assert taps.sums(np.array([[255, 255]], np.uint8)).item() == -510
    assert taps.sums(np.array([[True, False]])).item() == 3
