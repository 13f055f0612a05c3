"""Loading by name: where a set is looked for, what is said when it is not there, and the digits that need no file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.data import NAMES, ArraySplit, load
from fsnn_lava.data.places import FOLDERS
from fsnn_lava.errors import BadArgument, BadData
from fsnn_lava.nn.normalisation import Normalisation
from tests.helpers.data_files import write_mnist


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No data set of the machine is in sight."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("FSNN_DATA", raising=False)
    monkeypatch.chdir(home)
    return home


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


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(BadArgument, match="no data set 'minst': use one of digits, mnist"):
        load("minst")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_missing_set_says_where_it_was_looked_for_and_where_to_get_it(name, nowhere):
    with pytest.raises(BadData, match=r"searched .*\.cache/fsnn-data/.*data/.*--download or from https://") as caught:
        load(name)
    assert all(folder in str(caught.value) for folder in FOLDERS[name])


def test_every_name_but_the_digits_has_a_folder():
    assert set(NAMES) == {"digits", *FOLDERS}


def test_a_named_root_is_the_only_one_searched(tmp_path, nowhere):
    write_mnist(nowhere / ".cache/fsnn-data")
    with pytest.raises(BadData, match=re.escape(f"searched {tmp_path / 'other' / 'MNIST/raw'}. Download")):
        load("mnist", tmp_path / "other")


def test_the_variable_comes_before_the_cache_and_the_cache_before_the_working_folder(tmp_path, nowhere, monkeypatch):
    for root in (tmp_path / "named", nowhere / ".cache/fsnn-data", Path("data")):
        write_mnist(root)
    assert load("mnist").source == nowhere / ".cache/fsnn-data/MNIST/raw"
    monkeypatch.setenv("FSNN_DATA", str(tmp_path / "named"))
    assert load("mnist").source == tmp_path / "named/MNIST/raw"


def test_the_working_folder_is_searched_last(nowhere):
    write_mnist(Path("data"))
    assert load("mnist").source == Path("data/MNIST/raw")


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


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"divisor": 0.0}, "divisor must be a positive number, got 0.0"),
        ({"mean": (0.1, 0.2)}, "one entry per channel each, got 2 and 1"),
        ({"mean": (), "std": ()}, "one entry per channel each, got 0 and 0"),
        ({"std": (-1.0,)}, "every std must be a positive number"),
        ({"mean": (float("nan"),)}, "every mean must be finite"),
    ],
)
def test_a_normalisation_that_cannot_be_undone_is_refused(fields, sentence):
    with pytest.raises(BadArgument, match=sentence):
        Normalisation(**fields)
