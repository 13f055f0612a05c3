"""The walks in CONTRIBUTING.md name functions that exist, in the files that it names, in at most ten hops."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALK = re.compile(r"^### (A \w+ through `fsnn-\w+`)\n(.*?)(?=^##)", re.MULTILINE | re.DOTALL)
HOP = re.compile(r"^\| `(fsnn_lava/[\w/]+)\.py` \| `([\w.]+)` \|", re.MULTILINE)
WALKS = {title: HOP.findall(body) for title, body in WALK.findall(PAGE)}


def test_there_are_three_walks():
    assert list(WALKS) == ["A pixel through `fsnn-run`", "A batch through `fsnn-train`", "A weight through `fsnn-export`"]


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_has_at_most_ten_hops_and_never_returns_to_a_file(title):
    files = [file for file, _ in WALKS[title]]
    assert 5 <= len(files) <= 10
    assert len(set(files)) == len(files)


@pytest.mark.parametrize(("file", "function"), [hop for hops in WALKS.values() for hop in hops])
def test_every_function_of_a_walk_is_defined_in_its_file(file, function):
    name = file.replace("/", ".")
    found = importlib.import_module(name)
    for part in function.split("."):
        assert hasattr(found, part), f"{name} has no {function}"
        found = getattr(found, part)
    found = getattr(found, "py_func", found)  # of a compiled function
    assert found.__module__ == name
