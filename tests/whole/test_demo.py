"""The demo is the product in one command: it ends with a verdict and a report, and says so if Lava is missing."""

import importlib.util
import runpy
from pathlib import Path

import pytest

DEMO = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "demo.py"))
LAVA = importlib.util.find_spec("lava") is not None


@pytest.mark.skipif(not LAVA, reason="lava-nc is not installed")
def test_the_demo_runs_the_whole_pipeline_as_lava_processes(tmp_path, capfd):
    assert DEMO["main"](["--out", str(tmp_path / "demo"), "--epochs", "2"]) == 0
    out = capfd.readouterr().out
    assert "PASS  faithful" in out
    assert "sim (batched): " in out
    assert "skipped" not in out
    falling = [float(line.rpartition("=")[2]) for line in out.splitlines() if line.startswith("  T =")]
    assert falling[-1] < falling[0] / 20  # T = 5 … 200: as 1/T it would be a fortieth
    assert "<html" in (tmp_path / "demo" / "report.html").read_text()


def test_the_demo_without_lava_says_so_in_its_first_and_last_line(tmp_path, capfd, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "lava" else find(name, *rest))
    assert DEMO["main"](["--out", str(tmp_path / "demo"), "--epochs", "1"]) == 0
    lines = capfd.readouterr().out.strip().splitlines()
    assert lines[0] == lines[-1]
    assert "The Lava part is skipped" in lines[0] and "fsnn-doctor --install-lava" in lines[0]
    assert any(line.startswith("PASS  faithful") for line in lines)


def test_the_demo_empties_only_a_folder_of_its_own(tmp_path):
    (tmp_path / "keep").write_text("mine")
    DEMO["_prepared"](tmp_path)
    assert (tmp_path / "keep").read_text() == "mine"
