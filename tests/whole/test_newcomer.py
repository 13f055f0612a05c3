"""A newcomer's path: docs/index.md from top to bottom as it is printed, in a folder that holds only what a clone does."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsnn_lava.files.toml import read_toml
from fsnn_lava.ir.network import ChipNetwork
from tests.helpers.document_shell import LAVA, Shell, blocks, check_names, elsewhere, inline, lines
from tests.whole.browser.chromium import Chromium, find

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "index.md"
SHORTER = ["--set", "epochs=2"]


def test_a_newcomer_gets_from_the_demo_to_a_report_on_own_data(tmp_path, monkeypatch, capfd):
    for name in ("train", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    shell = Shell(tmp_path, monkeypatch, capfd)
    printed: dict[str, str] = {}
    for block in blocks(PAGE):
        if block.kind == "python":
            exec(compile(block.body, PAGE.name, "exec"), {"__name__": "block"})
        for command in lines(block) if block.kind == "sh" else ():
            if elsewhere(command):
                check_names(command)
            elif LAVA or "results.h5" not in command:  # that is what the Lava run writes
                shell.run(command, training=SHORTER)
                printed[command] = shell.printed
    assert read_toml(tmp_path / "mine.toml", what="recipe")["architecture"] == "12C3s-16C3 (F12C3)"
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert ChipNetwork.load(tmp_path / "own.h5").input.shape == (1, 10, 10)
    judged = [text for command, text in printed.items() if command.startswith(("fsnn-run", "fsnn-compare"))]
    assert len(judged) == (4 if LAVA else 2)
    assert all("PASS  " in text for text in judged)
    for command in inline(PAGE):
        if not elsewhere(command):
            shell.run(command)
            assert "mine: accuracy" in shell.printed
    look_at(tmp_path / "report.html")


def look_at(report: Path) -> None:
    program = find()
    if program is None:
        pytest.skip("everything ran; the report was not opened: no Chromium on this machine")
    with Chromium(program) as browser:
        browser.open(report, width=1280)
        assert browser.complaints() == []
        assert browser.ask("document.title").startswith("PASS: ")
        assert "12C3s-16C3 (F12C3)" in browser.ask("document.body.innerText")
        assert "Not drawn" not in browser.ask("document.body.innerText")
