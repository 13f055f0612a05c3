"""Labels in other forms are recognised with a note, or refused with what to write instead."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.data.own_labels import Labels, recognise_labels
from fsnn_lava.errors import BadData


def read(*arrays) -> Labels:
    arrays = [np.asarray(array) for array in arrays]
    return recognise_labels(arrays, [len(array) for array in arrays], names=["y", "y_train"][: len(arrays)], where="f.npz")


@pytest.mark.parametrize("given", [np.array([2, 0, 1], np.int8), [2.0, 0.0, 1.0], [[2], [0], [1]]])
def test_class_numbers_are_taken_without_a_note(given):
    found = read(given)
    np.testing.assert_array_equal(found.arrays[0], [2, 0, 1])
    assert (found.arrays[0].dtype, found.class_names, found.remarks) == (np.int64, (), ())


def test_labels_that_may_count_from_1_are_noted():
    assert read([1, 3], [2, 1]).remarks == ("no sample has class 0: if the labels count from 1, subtract 1 from them",)
    assert read([1, 3], [2, 0]).remarks == read([7, 9]).remarks == ()
    np.testing.assert_array_equal(read([1, 3]).arrays[0], [1, 3])


@pytest.mark.parametrize("dtype", [str, "S", "S9"])
def test_names_are_numbered_in_alphabetical_order_over_all_samples(dtype):
    found = read(np.array(["owl", "cat"]).astype(dtype), np.array(["dog", "owl", "cat"]).astype(dtype))
    assert [array.tolist() for array in found.arrays] == [[2, 0], [1, 2, 0]]
    assert found.class_names == ("cat", "dog", "owl")
    assert found.remarks == ("y holds 3 names: interpreted as classes in alphabetical order (cat, dog, owl)",)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float32])
def test_one_hot_rows_are_the_place_of_their_1(dtype):
    found = read(np.eye(4)[[2, 0]].astype(dtype), np.eye(4)[[3, 3, 1]].astype(dtype))
    assert [array.tolist() for array in found.arrays] == [[2, 0], [3, 3, 1]]
    assert found.remarks == ("y has shape [2, 4]: interpreted as one-hot rows of 4 classes",)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([[0.2, 0.8], [0.5, 0.5]], r"y must be a vector of class numbers or one-hot rows .*write y\.argmax\(1\)"),
        ([[1, 1], [0, 1]], "one-hot rows"),
        ([["a", "b"], ["c", "d"]], "one-hot rows"),
        ([0.5, 1.0], "y must be a vector of 2 class numbers or names, got float64"),
        ([-1, 0], r"class numbers from 0, got -1 … 0"),
        ([2**31], "class numbers from 0"),
        (np.zeros((2, 2, 2)), r"y must be a vector of 2 class numbers, got float64 of shape \[2, 2, 2\]"),
        (np.zeros((2, 0)), "must be a vector of 2 class numbers"),
    ],
)
def test_anything_else_is_refused(given, sentence):
    with pytest.raises(BadData, match=f"^f.npz: .*{sentence}"):
        read(given)


def test_one_hot_rows_of_two_widths_and_too_few_labels_are_refused():
    with pytest.raises(BadData, match="one-hot rows"):
        read(np.eye(3), np.eye(4))
    with pytest.raises(BadData, match="y holds names, but the other labels are numbers: use either in all of them"):
        read(np.array(["cat", "dog"]), np.array([0, 1]))
    with pytest.raises(BadData, match=r"y must be a vector of 3 class numbers, got int64 of shape \[2\]"):
        recognise_labels([np.array([0, 1])], [3], names=["y"], where="f.npz")
