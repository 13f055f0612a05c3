"""A newcomer's path: docs/index.md from top to bottom as printed, in a folder that contains only what a clone contains."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.files.toml import read_toml
from fsnn_lava.ir.network import ChipNetwork
from tests.helpers.document_shell import LAVA, Shell, blocks, check_names, elsewhere, inline, lines
from tests.helpers.event_data import write_nmnist
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


def bars() -> tuple[np.ndarray, np.ndarray]:
    """Colour images [B, C, H, W] of horizontal and vertical bars, and their classes."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 120)
    x = random.integers(0, 60, (120, 3, 10, 9), dtype=np.uint8)
    x[y == 0, :, 4, :] = 210
    x[y == 1, :, :, 4] = 210
    return x, y


LAYOUTS = {  # what a newcomer may write: the arrays, and what the note says of them
    "grey": (lambda x, y: (x[:, 0], y), "interpreted as greyscale images [B, H, W]"),
    "channels last": (lambda x, y: (x.transpose(0, 2, 3, 1), y), "interpreted as channels last"),
    "floats": (lambda x, y: ((x / 255).astype(np.float32), y), "multiplied by 255 and rounded to raw values"),
    "names": (lambda x, y: (x, np.array(["across", "down"])[y]), "interpreted as classes in alphabetical order (across, down)"),
    "one-hot": (lambda x, y: (x, np.eye(2)[y]), "interpreted as one-hot rows of 2 classes"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_own_data_in_a_wrong_layout_are_understood_and_reported(name, tmp_path):
    (x, y), (change, said) = bars(), LAYOUTS[name]
    values, labels = change(x, y)
    np.savez(tmp_path / "mine.npz", x_train=values[:90], y_train=labels[:90], x=values[90:], y=labels[90:])
    with pytest.warns(fl.Remark, match=re.escape(said)):
        data = fl.load_data(tmp_path / "mine.npz")
    np.testing.assert_array_equal(data.train.batch(slice(None)), x[:90, :1] if name == "grey" else x[:90])
    np.testing.assert_array_equal(data.test.labels, y[90:])
    assert data.classes == 2


def test_own_data_with_four_things_wrong_at_once_pass_through_the_whole_pipeline(tmp_path, monkeypatch, capfd):
    """Channels last, floats, names, and a class missing from the test samples; by the commands under one name."""
    shell = Shell(tmp_path, monkeypatch, capfd)
    x, y = bars()
    values, labels = x.transpose(0, 2, 3, 1) / 255.0, np.array(["across", "down"])[y]
    across = 90 + np.flatnonzero(y[90:] == 0)
    np.savez("mine.npz", x_train=values[:90], y_train=labels[:90], x=values[across], y=labels[across])
    shell.run("fsnn train --init my.toml --data mine.npz", training=[])
    shell.run("fsnn train my.toml --set epochs=4 --set steps=12 --set 'architecture=8C3s (F8C3)' --out run", training=[])
    shell.run("fsnn export run/last.pt net.h5")
    assert ChipNetwork.load("net.h5").class_names == ("across", "down")
    assert ChipNetwork.load("net.h5").input.shape == (3, 10, 9)
    shell.run("fsnn run net.h5 --backend emu --model run/last.pt --json")
    outcome = json.loads(shell.printed)
    assert outcome["verdict"]["passed"] and outcome["data"] == "mine"
    assert outcome["accuracy"] == 1.0


def test_recordings_pass_through_the_whole_pipeline_and_are_framed_alike_in_every_command(tmp_path, monkeypatch, capfd):
    shell = Shell(tmp_path, monkeypatch, capfd)
    write_nmnist(tmp_path / "data")
    shell.run("fsnn train --init my.toml --data tonic:NMNIST,window=9000,frames=6,size=17", training=[])
    options = "--set epochs=1 --set steps=6 --set batch=3 --set 'architecture=4C3s (F4C3)' --set shift=1 --set drop_events=0.1"
    shell.run(f"fsnn train my.toml --out run {options}", training=[])
    shell.run("fsnn export run/last.pt net.h5 --max-drop 100")
    chip = ChipNetwork.load("net.h5")
    assert (chip.input.kind, chip.input.shape, chip.notes["data"]) == ("events", (2, 17, 17), "tonic:NMNIST,window=9000,frames=6,size=17")
    shell.run("fsnn run net.h5 --backend emu")
    assert "tonic:NMNIST: " in shell.printed


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
