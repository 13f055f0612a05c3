"""Documents are true: links lead somewhere, Python blocks run, commands parse, the reference is the parsers' own."""

import importlib
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documentation import build

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("train/*.md"), *ROOT.glob("deploy/*.md"), *ROOT.glob("examples/**/*.md")]
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(language):
    for page in PAGES:
        for position, (kind, body) in enumerate(BLOCK.findall(page.read_text())):
            if kind == language:
                yield pytest.param(body, id=f"{page.relative_to(ROOT)}-{position}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text()):
        if not link.startswith(("http://", "https://", "#", "mailto:")):
            assert (page.parent / link.partition("#")[0]).exists(), f"{page.name}: {link}"


def test_the_site_is_built_without_a_warning(tmp_path):
    pages = {page.stem for page in build(tmp_path).glob("*.html")}
    assert {page.stem for page in ROOT.glob("docs/*.md")} <= pages
    assert {"loihi2", "results", "contributing", "changelog"} <= pages


@pytest.mark.parametrize("body", blocks("python"))
def test_python_blocks_run(body, tmp_path, monkeypatch):
    if "for values in stream" in body or "hours" in body:
        compile(body, "block", "exec")  # a fragment that stands on the text around it
        return
    monkeypatch.chdir(tmp_path)
    exec(compile(body, "block", "exec"), {"__name__": "block"})


def commands():
    for parameter in blocks(""):
        for line in parameter.values[0].splitlines():
            words = line.partition("#")[0].strip().removeprefix("$ ")
            if words.startswith("fsnn-") and "…" not in words:
                yield pytest.param(words, id=f"{parameter.id}: {words}")


@pytest.mark.parametrize("command", commands())
def test_commands_parse_and_name_files_that_are_there(command):
    name, *arguments = shlex.split(command)
    module = importlib.import_module(f"fsnn_lava.cli.{name.removeprefix('fsnn-')}")
    parsed = module._parser().parse_args(arguments)
    recipe = getattr(parsed, "recipe", None)
    assert recipe is None or (ROOT / recipe).is_file() or not str(recipe).startswith("train/")


def test_the_command_reference_is_up_to_date():
    assert runpy.run_path(str(ROOT / "docs" / "make_commands.py"))["page"]() == (ROOT / "docs" / "commands.md").read_text()


@pytest.mark.parametrize("name", ["train", "export", "run", "compare", "map", "doctor"])
def test_every_command_explains_itself(name):
    code = f"import sys; from fsnn_lava.cli import {name}; sys.argv = ['x', '--help']; {name}.main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: fsnn-")
