"""Where data sets are searched for, and the message about a missing one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsnn_lava.data import NAMES, load
from fsnn_lava.data.search_path import FOLDERS
from fsnn_lava.errors import BadData
from tests.helpers.data_files import write_mnist


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """Hide the data sets of this machine."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("FSNN_DATA", raising=False)
    monkeypatch.chdir(home)
    return home


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
