"""Splits: batches are copies, and only raw values with one label each are accepted."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.data import ArraySplit
from fsnn_lava.errors import BadData


def test_a_split_gives_batches_of_their_own():
    split = ArraySplit(np.arange(12, dtype=np.uint8).reshape(4, 3), np.array([3, 1, 2, 0]))
    np.testing.assert_array_equal(split.batch([2, 0]), [[6, 7, 8], [0, 1, 2]])
    split.batch(slice(0, 2))[:] = 99
    split.batch([0, 1])[:] = 99
    np.testing.assert_array_equal(split.values[:2], [[0, 1, 2], [3, 4, 5]])
    assert split.labels.dtype == np.int64


def test_a_split_takes_only_raw_values_and_one_label_each():
    with pytest.raises(BadData, match="must be raw uint8 numbers, got float64"):
        ArraySplit(np.zeros((2, 3)), np.zeros(2, np.int64))
    with pytest.raises(BadData, match=r"2 samples need a vector of as many labels, got labels of shape \(3,\)"):
        ArraySplit(np.zeros((2, 3), np.uint8), np.zeros(3, np.int64))
