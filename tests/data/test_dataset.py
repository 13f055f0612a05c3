"""Splits: batches are copies, and only raw values with one label each are accepted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from fsnn_lava.data import ArraySplit, load
from fsnn_lava.errors import BadData
from fsnn_lava.training.samples import sample_part


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
    with pytest.raises(BadData, match=r"2 samples need one label each, got labels of shape \(3,\)"):
        ArraySplit(np.zeros((2, 3), np.uint8), np.zeros(3, np.int64))


def test_a_sample_is_its_values_and_its_class():
    split = ArraySplit(np.arange(12, dtype=np.uint8).reshape(4, 3), np.array([3, 1, 2, 0]))
    for index, label in ((1, 1), (-1, 0), (np.int64(2), 2)):
        values, found = split[index]
        np.testing.assert_array_equal(values, split.values[index])
        assert (found, type(found)) == (label, int)
    for index in (4, -5):
        with pytest.raises(IndexError, match=f"index {index} is out of range: there are 4 samples"):
            split[index]
    assert [label for _, label in split] == [3, 1, 2, 0]


def test_torch_loads_batches_of_raw_values_from_a_split_and_from_a_part_of_one():
    train = load("digits").train
    for split in (train, sample_part(train, 50)):
        values, labels = next(iter(DataLoader(split, batch_size=8)))
        assert torch.equal(values, torch.from_numpy(split.batch(range(8))))
        assert torch.equal(labels, torch.from_numpy(split.labels[:8]))


@pytest.mark.parametrize("index", [slice(0, 3), [0, 1], "first"])
def test_only_an_integer_is_an_index(index):
    with pytest.raises(TypeError, match=rf"index must be an integer, got {type(index).__name__}: batch\(\.\.\.\) and labels\[\.\.\.\]"):
        load("digits").train[index]
