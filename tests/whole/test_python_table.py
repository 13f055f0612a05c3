"""make test-pythons counts what pytest reported, and a run that failed, ran nothing or did not finish is never shown as good."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch):
    """.ci/test_pythons.py as a module."""
    spec = importlib.util.spec_from_file_location("test_pythons_script", ROOT / ".ci/test_pythons.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def report(tests, skipped=0, failures=0, errors=0):
    return f'<testsuites><testsuite tests="{tests}" skipped="{skipped}" failures="{failures}" errors="{errors}"/></testsuites>'


@pytest.mark.parametrize(
    ("text", "shown", "good"),
    [
        (report(10, skipped=2), "8, 2, 0", True),
        (report(10, skipped=2, failures=1, errors=1), "6, 2, 2", False),
        (report(3, skipped=3), "0, 3, 0", False),
        (report(0), "0, 0, 0", False),
        ("<testsuites><testsuite", "did not finish", False),
        (None, "did not finish", False),
    ],
)
def test_an_outcome_is_read_from_pytests_own_report(script, tmp_path, text, shown, good):
    if text is not None:
        (tmp_path / "report.xml").write_text(text)
    outcome = script.read_outcome(tmp_path / "report.xml")
    assert (str(outcome), outcome.good) == (shown, good)


@pytest.fixture
def stand_in(script, monkeypatch):
    """Every Python exists; `reports` is what pytest writes for each run, and `ran` is what was started."""
    state = {"reports": {}, "ran": []}

    def run(python, series, *arguments):
        state["ran"].append((series, arguments))
        if arguments[0] == "-c":
            return subprocess.CompletedProcess(arguments, 0, stdout="noise\n" + json.dumps([f"{series}.1", "2.13.0", "2.4.6", "0.10.0"]))
        target = arguments[-1] if "--target" in arguments else "tests"
        path = next(word.partition("=")[2] for word in arguments if word.startswith("--junitxml="))
        Path(path).write_text(state["reports"].get((series, target), report(5)))
        return subprocess.CompletedProcess(arguments, 0, stdout="what pytest printed")

    monkeypatch.setattr(script, "find", lambda series: None if series == "3.12" else f"/python{series}")
    monkeypatch.setattr(script, "in_environment", run)
    return state


def test_every_python_found_is_a_row_and_one_that_is_missing_is_named(script, stand_in, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["test_pythons"])
    assert script.main() == 0
    captured = capsys.readouterr()
    rows = captured.out.splitlines()[2:]
    assert [row.split(" | ")[:8] for row in rows] == [
        [f"| {series}.1", "2.13.0", "2.4.6", "0.10.0", *["5, 0, 0"] * 4] for series in ("3.10", "3.11", "3.13")
    ]
    assert "Python 3.12 was not found" in captured.err
    assert [arguments[-1] for series, arguments in stand_in["ran"] if series == "3.10"][2:] == ["emu", "sim", "stock"]


@pytest.mark.parametrize("target", ["tests", "emu", "sim", "stock"])
def test_one_failure_anywhere_fails_the_whole(script, stand_in, capsys, monkeypatch, target):
    stand_in["reports"]["3.11", target] = report(5, failures=1)
    monkeypatch.setattr(sys, "argv", ["test_pythons", "3.11"])
    assert script.main() == 1
    captured = capsys.readouterr()
    assert "4, 0, 1" in captured.out and "what pytest printed" in captured.err


def test_a_python_that_was_asked_for_and_is_missing_fails(script, stand_in, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["test_pythons", "3.11", "3.12"])
    assert script.main() == 1


def test_rows_replace_those_of_the_same_python_in_the_page(script, tmp_path):
    page = tmp_path / "verified.md"
    page.write_text(f"before\n\n{script.BEGIN}\n\nold\n\n{script.END}\nafter\n")
    script.write({"3.11": "| 3.11.7 | good |", "3.13": "| 3.13.0 | good |"}, page=page)
    script.write({"3.10": "| 3.10.13 | good |", "3.13": "| 3.13 | could not be set up |"}, page=page)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert text.count(script.HEAD) == 1
    assert [line for line in text.splitlines() if line.startswith("| 3")] == [
        "| 3.10.13 | good |",
        "| 3.11.7 | good |",
        "| 3.13 | could not be set up |",
    ]


def test_a_row_says_when_and_which_commit_it_is_of(script, stand_in, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["test_pythons", "3.13"])
    monkeypatch.setattr(script, "commit", lambda: "0a1b2c3+")
    assert script.main() == 0
    assert capsys.readouterr().out.rstrip().endswith(", 0a1b2c3+ |")


def test_the_page_has_a_place_for_the_table(script):
    text = script.PAGE.read_text()
    assert text.count(script.BEGIN) == text.count(script.END) == 1
