"""Every path of this repository that a document names exists."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = "fsnn_lava|train|deploy|hw_tests|examples|tests|bench|docs|[.]ci|[.]github"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./*-]*)`")
MODULE = re.compile(r"`(fsnn_lava(?:\.\w+)+)`")
RECORDED = re.compile(r"<!-- (?:rows|changes) -->.*?<!-- end -->", re.DOTALL)  # written by make torture --record
OTHERS = re.compile(r"^## Compared with other projects.*", re.DOTALL | re.MULTILINE)  # paths in their repositories
RELEASED = re.compile(r"^## \[\d.*", re.DOTALL | re.MULTILINE)  # the changelog of a release is history
MADE = {"hw_tests/records/loihi2.json"}  # written by the command beside it
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", "train/*.md", "deploy/**/*.md", "examples/**/*.md", "examples/*.ipynb", "examples/*.py")
    for page in ROOT.glob(pattern)
)


def text(page: Path) -> str:
    if page.suffix == ".ipynb":
        return "\n".join("".join(cell["source"]) for cell in json.loads(page.read_text(encoding="utf-8"))["cells"])
    whole = page.read_text(encoding="utf-8")
    for left_out in (RECORDED, OTHERS, RELEASED):
        whole = left_out.sub("", whole)
    return whole


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_in_backticks_exists(page):
    absent = [path for path in PATH.findall(text(page)) if path not in MADE and not list(ROOT.glob(path.rstrip("/")))]
    assert not absent, f"{page.relative_to(ROOT)} names {absent}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_in_backticks_exists(page):
    for name in MODULE.findall(text(page)):
        if name != "fsnn_lava.lava":  # the changelog says where it went
            assert found(name), f"{page.relative_to(ROOT)}: {name}"


def found(name: str) -> bool:
    """Whether it is a module, or a name in one."""
    try:
        if importlib.util.find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    module, _, attribute = name.rpartition(".")
    return hasattr(importlib.import_module(module), attribute)


def test_a_path_that_does_not_exist_is_noticed():
    assert PATH.findall("see `fsnn_lava/chip/fold.py`, `tests/` and `.ci/run`") == ["fsnn_lava/chip/fold.py", "tests/", ".ci/run"]
    assert not list(ROOT.glob("fsnn_lava/chip/fold.py"))
    assert not found("fsnn_lava.ir.absent")
