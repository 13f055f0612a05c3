"""axe-core finds no serious fault in the report, in the page of two runs and in the documentation.

It is not part of the repository: `npm pack axe-core`, unpack it, and set FSNN_AXE to its axe.min.js.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsnn_lava.cli.compare import main as compare_command
from fsnn_lava.formats.results import write_results
from fsnn_lava.report.evidence import Origin
from fsnn_lava.report.report import write_report
from tests.helpers.documentation import build
from tests.helpers.report_case import digits_case
from tests.whole.browser.chromium import Chromium, find

AXE, PROGRAM = os.environ.get("FSNN_AXE"), find()
pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"),
    pytest.mark.skipif(AXE is None, reason="no axe-core: npm pack axe-core, unpack it, and set FSNN_AXE to its axe.min.js"),
]
FAULTS = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
    .filter(v => ['serious', 'critical'].includes(v.impact))
    .map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary.slice(0, 300)]))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium(str(PROGRAM)) as browser:
        yield browser


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, case = tmp_path_factory.mktemp("reports"), digits_case()
    run = {"chip": case.chip, "result": case.result, "values": case.values, "labels": case.labels, "model": case.model}
    write_report(folder / "one.html", verdict=case.verdict, **run, origin=Origin(data="digits"))
    write_results(folder / "a.h5", case.result, case.chip, case.values, labels=case.labels)
    compare_command([str(folder / "a.h5"), str(folder / "a.h5"), "--report", str(folder / "two.html"), "--equilibria", "1"])
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def faults(browser: Chromium, page: Path, *, width: int, dark: bool) -> list[list[object]]:
    """The serious and critical faults of a page with everything opened."""
    browser.open(page, width=width, dark=dark)
    browser.ask("document.querySelectorAll('details').forEach(details => { details.open = true })")
    browser.ask(Path(str(AXE)).read_text(encoding="utf-8") + "; 0")
    return list(browser.ask(FAULTS))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["one", "two"])
def test_a_report_has_no_serious_fault(browser, reports, name, width, dark):
    assert faults(browser, reports / f"{name}.html", width=width, dark=dark) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_of_the_documentation_has_a_serious_fault(browser, site, width, dark):
    pages = sorted(set(site.glob("*.html")) - {site / "404.html"})  # that one is for servers
    found = {page.name: faults(browser, page, width=width, dark=dark) for page in pages}
    assert {name: faults for name, faults in found.items() if faults} == {}
