"""The digits: a fixed split, every image once."""

from __future__ import annotations

import numpy as np

from fsnn_lava.data import digits as digits_module
from fsnn_lava.data import load


def test_the_digits_are_split_the_same_way_always():
    digits = load("digits")
    assert (len(digits.train), len(digits.test), digits.shape, digits.classes) == (1433, 364, (1, 8, 8), 10)
    np.testing.assert_array_equal(digits.test.labels[:12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 9])
    assert np.bincount(digits.test.labels).min() >= 35
    assert int(digits.train.batch(slice(None)).sum()) == 448165


def test_the_digits_keep_every_image_once_and_their_scale():
    from sklearn.datasets import load_digits

    digits = load("digits")
    ours = np.concatenate([digits.train.batch(slice(None)), digits.test.batch(slice(None))]).reshape(-1, 64)
    theirs = load_digits().data.astype(np.uint8)
    assert sorted(map(bytes, ours)) == sorted(map(bytes, theirs))
    assert (ours.max(), digits.normalisation.divisor) == (16, 16.0)


def test_the_digits_are_the_same_if_their_file_is_not_where_it_used_to_be(monkeypatch):
    ours = load("digits")
    monkeypatch.setattr(digits_module, "find_spec", lambda _: None)
    theirs = load("digits")
    for one, other in ((ours.train, theirs.train), (ours.test, theirs.test)):
        np.testing.assert_array_equal(one.batch(slice(None)), other.batch(slice(None)))
        np.testing.assert_array_equal(one.labels, other.labels)
