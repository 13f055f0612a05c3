"""Untrusted TOML files."""

from __future__ import annotations

import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.files.toml import BYTES_MAX, parse_toml, read_toml


def test_a_file_is_read_up_to_its_largest_size(tmp_path):
    path = tmp_path / "a.toml"
    text = "key = 'é'\n"
    path.write_text(text + "#" * (BYTES_MAX - len(text.encode())), encoding="utf-8")
    assert read_toml(path, what="recipe") == {"key": "é"}
    path.write_text(path.read_text(encoding="utf-8") + "#", encoding="utf-8")
    with pytest.raises(BadFile, match=rf"a\.toml is not a recipe: it must have at most {BYTES_MAX} bytes"):
        read_toml(path, what="recipe")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff\xfe", r"a\.toml is not a board file: not a text file \(invalid start byte at byte 0\)"),
        (b"key = ", r"a\.toml is not a TOML file: "),
        (b"key = " + b"[" * 5000, r"a\.toml is not a TOML file: "),
        (b"key = " + b"9" * 5000, r"a\.toml is not a TOML file: "),
    ],
    ids=["bytes", "cut", "nested", "digits"],
)
def test_what_is_not_toml_is_reported(tmp_path, content, sentence):
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=sentence) as error:
        read_toml(path, what="board file")
    assert len(str(error.value).splitlines()) == 1


def test_a_missing_file_and_a_folder_are_reported(tmp_path):
    with pytest.raises(BadFile, match=r"cannot read the recipe .*none\.toml: No such file"):
        read_toml(tmp_path / "none.toml", what="recipe")
    with pytest.raises(BadFile, match=r"cannot read the recipe .*: Is a directory"):
        read_toml(tmp_path, what="recipe")


def test_a_long_complaint_of_the_parser_is_cut():
    with pytest.raises(BadFile, match=r"^here is not a TOML file") as error:
        parse_toml(f"{'k' * 1000} = 1\n{'k' * 1000} = 2", where="here")
    assert len(str(error.value)) < 300
