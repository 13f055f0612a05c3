"""Untrusted HDF5 files: what is requested exists, has the right type, and is small enough."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.files import hdf5
from fsnn_lava.files.hdf5 import open_file, put_array, write_file


@pytest.fixture
def path(tmp_path):
    def fill(file):
        put_array(file, "small", np.arange(6, dtype=np.int16).reshape(2, 3))
        put_array(file, "large", np.zeros(5000, np.int64))
        put_array(file, "floats", np.ones(3))
        file.attrs.update(text="é", count=7, pair=[3, 4], numbers=[0.5, 2.0], number=1.5)
        for name in ("0", "1", "2"):
            file.create_group(f"list/{name}").attrs["which"] = int(name) * 10
        file["soft"] = h5py.SoftLink("/small")
        file["outside"] = h5py.ExternalLink("other.h5", "/small")

    write_file(tmp_path / "a.h5", fill)
    return tmp_path / "a.h5"


def test_what_was_written_is_read_back(path):
    with open_file(path) as root:
        np.testing.assert_array_equal(root.array("small", "i", (2,)), [[0, 1, 2], [3, 4, 5]])
        assert (root.text("text"), root.integer("count"), root.pair("pair")) == ("é", 7, (3, 4))
        assert (root.numbers("numbers"), root.number("number"), root.number("count")) == ((0.5, 2.0), 1.5, 7.0)
        assert [node.integer("which") for node in root.numbered("list")] == [0, 10, 20]
        assert root.has("small") and not root.has("none") and root.has_attribute("text") and not root.has_attribute("none")


def test_only_large_arrays_are_compressed(path):
    with h5py.File(path) as file:
        assert (file["small"].compression, file["large"].compression) == (None, "gzip")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda root: root.array("none", "i"), "'none' is missing"),
        (lambda root: root.array("soft", "i"), "'soft' is a link; links are not followed"),
        (lambda root: root.array("outside", "i"), "'outside' is a link; links are not followed"),
        (lambda root: root.array("list", "i"), "'list' must be an array"),
        (lambda root: root.group("small"), "'small' must be a group"),
        (lambda root: root.array("floats", "iu"), "'floats' must contain integers, got float64"),
        (lambda root: root.array("small", "i", (1, 3)), r"'small' must have 1 or 3 axes, got shape \(2, 3\)"),
        (lambda root: root.text("none"), "attribute 'none' is missing"),
        (lambda root: root.text("count"), "attribute 'count' must be a string"),
        (lambda root: root.integer("number"), "attribute 'number' must be an integer"),
        (lambda root: root.integers("numbers"), "attribute 'numbers' must be a list of integers"),
        (lambda root: root.number("pair"), "attribute 'pair' must be a number"),
        (lambda root: root.group("list").group("0").text("which"), r"list/0: attribute 'which' must be a string"),
    ],
)
def test_what_is_not_as_asked_is_reported_with_the_place(path, ask, sentence):
    with pytest.raises(BadFile, match=rf"^{path}:.*{sentence}"), open_file(path) as root:
        ask(root)


def test_two_numbers_are_no_more_and_no_less(tmp_path):
    write_file(tmp_path / "a.h5", lambda file: file.attrs.update(pair=[1, 2, 3]))
    with pytest.raises(BadFile, match="must be two integers, got 3"), open_file(tmp_path / "a.h5") as root:
        root.pair("pair")


def test_a_gap_in_a_numbered_list_is_named(tmp_path):
    write_file(tmp_path / "a.h5", lambda file: [file.create_group(f"list/{name}") for name in ("0", "2")])
    with pytest.raises(BadFile, match="members must be numbered 0 … 1; 1 is missing"), open_file(tmp_path / "a.h5") as root:
        root.numbered("list")


def test_a_file_is_read_up_to_its_budget(path, monkeypatch):
    """Twelve bytes are the array's; a second reading of them would be one too many."""
    monkeypatch.setattr(hdf5, "BYTES_MAX", 12)
    with open_file(path) as root:
        assert root.array("small", "i").size == 6
        with pytest.raises(BadFile, match="'small' takes 12 bytes, but at most 12 are read from one file"):
            root.array("small", "i")


def test_an_array_that_claims_more_than_its_file_could_hold_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(hdf5, "SMALL", 0)
    write_file(tmp_path / "a.h5", lambda file: file.create_dataset("huge", (10**12,), np.int8, chunks=(1000,)))
    with pytest.raises(BadFile, match="'huge' takes 1000000000000 bytes, too much for a file of"), open_file(tmp_path / "a.h5") as root:
        root.dataset("huge")


def test_a_failed_write_leaves_the_old_file(path):
    before = path.read_bytes()

    def fill(file):
        raise ZeroDivisionError("half way")

    with pytest.raises(ZeroDivisionError, match="half way"):
        write_file(path, fill)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["a.h5"]


def test_what_cannot_be_opened_is_reported(tmp_path):
    (tmp_path / "text.h5").write_text("not HDF5")
    for name, sentence in (("none.h5", "does not exist"), ("", "is not a file"), ("text.h5", "is not an HDF5 file, or it is damaged")):
        with pytest.raises(BadFile, match=sentence), open_file(tmp_path / name):
            pass


def test_an_attribute_error_is_damage_only_if_h5py_raised_it(path):
    with pytest.raises(AttributeError, match="no attribute 'misspelt'"), open_file(path) as root:
        root.misspelt()  # a programming error
    with pytest.raises(BadFile, match="it is damaged: 'NoneType' object has no attribute 'shape'"), open_file(path):
        exec("None.shape", {"__name__": "h5py._hl.dataset"})


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), PermissionError(13, "Permission denied"), MemoryError("too little")])
def test_what_fails_while_a_file_is_used_is_not_blamed_on_the_file(path, error):
    """Such as printing what was read to a program that has ended, or writing a report."""
    with pytest.raises(type(error)), open_file(path):
        raise error
