"""Two runs on one page: self-contained, without scripts, every anchor once."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest

from fsnn_lava.cli.compare import fsnn_compare
from fsnn_lava.formats.results import write_results
from fsnn_lava.running.run import run
from tests.helpers.report_case import EVIL, digits_case


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of the same network and samples, the second over fewer steps."""
    folder, case = tmp_path_factory.mktemp("pair"), digits_case()
    for name, steps in (("long.h5", 12), ("short.h5", 2)):
        result = run(case.chip, case.values, steps=steps)
        write_results(folder / name, result, case.chip, case.values, labels=case.labels, data="digits")
    return folder


def test_two_runs_are_compared_on_one_self_contained_page(folder, capsys):
    assert (
        fsnn_compare([str(folder / "long.h5"), str(folder / "short.h5"), "--report", str(folder / "pair.html"), "--equilibria", "2"]) == 0
    )
    printed = capsys.readouterr().out
    assert re.search(r"^steps +12 +2$", printed, flags=re.MULTILINE)
    assert "Of the 24 samples compared" in printed
    page = (folder / "pair.html").read_text(encoding="utf-8")
    names = re.findall(r'\bid="([^"]*)"', page)
    assert len(names) == len(set(names))
    assert {"facts", "classes", "layers", "different", "checks-1", "checks-2", "run-1-check-charge", "run-2-check-charge"} <= set(names)
    assert "<script" not in page
    assert escape(EVIL) in page
    assert "Not drawn" not in page
    assert "default-src 'none'" in page


def test_figures_belong_to_one_run(folder, capsys):
    arguments = [str(folder / "long.h5"), str(folder / "short.h5"), "--report", str(folder / "x.html"), "--figures", str(folder / "f")]
    assert fsnn_compare(arguments) == 2
    assert "pass a single results file" in capsys.readouterr().err
