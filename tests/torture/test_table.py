"""The table of `make torture`: printed whatever happens, and the one in the documentation says what ran."""

from __future__ import annotations

import json
import re
import sys
from argparse import Namespace

import pytest

from tests.torture import __main__ as torture
from tests.torture import document, mutation
from tests.torture.parts import PARTS, Row


def held(args: Namespace) -> list[Row]:
    return [Row("one", "a fault", f"{args.cases} times", "held", True)]


def lost(args: Namespace) -> list[Row]:
    return [Row("two", "another fault", "twice", "1 failed", False, details=["which one"])]


def breaks(args: Namespace) -> list[Row]:
    raise OSError("no room\nleft")


@pytest.mark.parametrize(("part", "code", "line"), [(held, 0, "ok   a fault"), (lost, 1, "FAIL another fault"), (breaks, 1, "FAIL files")])
def test_a_part_that_fails_or_breaks_is_a_row_and_the_others_are_reported(part, code, line, monkeypatch, capsys):
    for name in PARTS:
        monkeypatch.setitem(PARTS, name, held)
    monkeypatch.setitem(PARTS, "files", part)
    monkeypatch.setattr(sys, "argv", ["torture", "--cases", "7"])
    assert torture.main() == code
    lines = capsys.readouterr().out.splitlines()
    table = lines[lines.index(next(one for one in lines if one.split()[:2] == ["fault", "how"])) :]
    assert len([one for one in table if one.startswith("ok   a fault") and "7 times" in one]) == len(PARTS) - (part is not held)
    assert any(one.startswith(line) for one in table)
    assert part is not breaks or any("OSError: no room left" in one for one in table)
    assert lines[-1].startswith(f"{len(PARTS) - code} of {len(PARTS)} rows held")


def test_an_interruption_still_prints_the_table(monkeypatch, capsys):
    def interrupted(name: str, rows: list[Row]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(PARTS, "files", held)
    monkeypatch.setattr(torture, "tell", interrupted)
    monkeypatch.setattr(sys, "argv", ["torture", "--only", "files"])
    with pytest.raises(KeyboardInterrupt):
        torture.main()
    out = capsys.readouterr().out
    assert "ok   a fault" in out and "1 of 1 rows held" in out


def test_the_page_says_what_ran():
    page = document.PAGE.read_text()
    assert document.table(json.loads(document.RAN.read_text())) in page
    assert document.changes().splitlines()[-2] in page
    made = [re.findall(r"\d+", line)[1:] for line in document.changes().splitlines() if line.startswith("| `")]
    assert made == [re.findall(r"\d+", line)[1:] for line in page.splitlines() if re.match(r"\| `[\w/]+/` \| \d", line)]


def test_what_ran_is_recorded_by_its_key(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "RAN", tmp_path / "ran.json")
    monkeypatch.setattr(document, "PAGE", tmp_path / "page.md")
    document.PAGE.write_text(f"before\n{document.ROWS}stale{document.END}\n{document.CHANGES}stale{document.END}\nafter\n")
    document.record({"disks": [Row("disks", "x", "3 cases", "3 held", True)]})
    document.record({"files": [Row("files", "y", "9 files", "1 | failed", False)]})
    page = document.PAGE.read_text()
    assert page.startswith("before\n") and page.endswith(f"{document.END}\nafter\n") and "stale" not in page
    assert "| 3 cases; 2" in page and "**failed**: 1 \\| failed |" in page and page.count("not yet") == 2 * (len(document.LINES) - 2)


def test_every_known_change_was_noticed_or_is_explained():
    known = mutation.known()
    assert not mutation.summary(known)[1]
    assert len(known) >= 70
    assert {one.folder for one in known} == set(mutation.FILES)


def test_nearly_every_known_change_can_still_be_made():
    """When a line is rewritten, its mutations are lost, and `--search` draws new ones. One in twenty may be missing."""
    every = [mutation.possible(document.PACKAGE, folder) for folder in mutation.FILES]
    present = {(one.file, one.text, one.change, nth) for files in every for changes in files.values() for nth, one in changes}
    gone = [one.name for one in mutation.known() if (one.file, one.text, one.change, one.nth) not in present]
    assert len(gone) <= len(mutation.known()) // 20, gone


def test_every_test_that_noticed_a_change_is_still_there():
    for change in mutation.known():
        file, _, name = change.by.partition("::")
        source = (mutation.HERE.parent.parent / file).read_text(encoding="utf-8") if file else ""
        assert not name or f"def {name.partition('[')[0]}(" in source, f"{change.by}: moved or renamed"
