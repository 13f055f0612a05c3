"""Loading by name: where a data set is searched for, the message if it is missing, and the digits, which need no file."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import BadArgument, BadData


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(BadArgument, match=r"unknown data set 'minst' \(did you mean 'mnist'\?\): use one of digits, mnist"):
        load("minst")


def test_another_file_is_answered_with_what_to_write(tmp_path):
    np.save(tmp_path / "mine.npy", np.zeros((2, 3), np.uint8))
    with pytest.raises(BadData, match=r"mine\.npy is not a data set: write your samples with numpy\.savez\('mine\.npz', x=\.\.\., y="):
        load(tmp_path / "mine.npy")


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(BadData, match=r"there is no folder .*/nowhere$"):
        load(f"{tmp_path}/nowhere,size=32")
