"""Recipes by name: those of train/, found from anywhere, listed, and copied to be changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.training.recipe import load_recipe
from fsnn_lava.training.shipped_recipes import copy_shipped_recipe, find_recipe, recipe_table, shipped_recipes

TRAIN = Path(__file__).parents[2] / "train"


def test_every_recipe_of_the_source_tree_has_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert set(shipped_recipes()) == {path.stem for path in TRAIN.glob("*.toml")}
    assert find_recipe("digits").read_bytes() == (TRAIN / "digits.toml").read_bytes()
    Path("digits").write_text("")
    assert find_recipe("digits") == Path("digits")  # a file comes first


def test_a_misspelt_name_is_answered_with_the_right_one():
    with pytest.raises(BadFile, match=r"there is no file mnist-iff and no shipped recipe of that name; did you mean mnist-if\?"):
        find_recipe("mnist-iff")
    with pytest.raises(BadFile, match="no shipped recipe of that name; fsnn train --list lists them all"):
        find_recipe("q.toml")


def test_the_table_has_a_line_for_every_recipe_and_fits_100_characters():
    lines = recipe_table().splitlines()
    assert lines[0].split() == ["recipe", "data", "architecture", "neuron", "T", "epochs"]
    assert len(lines) == 1 + len(shipped_recipes()) and max(map(len, lines)) <= 100
    assert next(line for line in lines if line.startswith("digits ")).split() == [
        "digits",
        "digits",
        "32C3s-64C3s",
        "(F32C3u)",
        "if",
        "32",
        "16",
    ]


def test_a_copy_keeps_its_comments_and_takes_another_data_set(tmp_path):
    target = tmp_path / "my.toml"
    copy_shipped_recipe(target, find_recipe("digits"), data='odd "name"\\.npz')
    assert "# norm = " in target.read_text()
    assert load_recipe(target).data == 'odd "name"\\.npz'
    with pytest.raises(BadArgument, match=r"my\.toml already exists"):
        copy_shipped_recipe(target, find_recipe("digits"))
