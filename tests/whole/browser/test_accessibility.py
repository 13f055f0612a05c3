"""axe-core finds no serious fault in the report, in the page of two runs and in the documentation.

It is not part of the repository: `npm pack axe-core`, unpack it, and set FSNN_AXE to its axe.min.js.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsnn_lava.cli.compare import fsnn_compare
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
FAULTS = """axe.run(document, OPTIONS).then(found => found.violations
    .filter(v => ['serious', 'critical'].includes(v.impact))
    .map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary.slice(0, 300)]))"""
EVERY_RULE = {"resultTypes": ["violations"]}
RULES_OF_COLOUR = {**EVERY_RULE, "runOnly": ["color-contrast", "link-in-text-block"]}  # what dark colours can change
DARK = "new Promise(done => setTimeout(() => done(getComputedStyle(document.body).backgroundColor), 300))"


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
    fsnn_compare([str(folder / "a.h5"), str(folder / "a.h5"), "--report", str(folder / "two.html"), "--equilibria", "1"])
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def faults(browser: Chromium, page: Path, *, width: int) -> list[list[object]]:
    """The serious and critical faults of a page with everything opened, in light and in dark colours."""
    browser.open(page, width=width)
    browser.ask("document.querySelectorAll('details').forEach(details => { details.open = true })")
    browser.ask(Path(str(AXE)).read_text(encoding="utf-8") + "; 0")
    found = browser.ask(FAULTS.replace("OPTIONS", json.dumps(EVERY_RULE)))
    light = browser.ask("getComputedStyle(document.body).backgroundColor")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert browser.ask(DARK) != light, page.name
    return [*found, *browser.ask(FAULTS.replace("OPTIONS", json.dumps(RULES_OF_COLOUR)))]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["one", "two"])
def test_a_report_has_no_serious_fault(browser, reports, name, width):
    assert faults(browser, reports / f"{name}.html", width=width) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_of_the_documentation_has_a_serious_fault(browser, site, width):
    pages = sorted(set(site.glob("*.html")) - {site / "404.html"})  # that one is for servers
    found = {page.name: faults(browser, page, width=width) for page in pages}
    assert {name: faults for name, faults in found.items() if faults} == {}
