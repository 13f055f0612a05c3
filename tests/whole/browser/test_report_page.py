"""The report in a real browser: it opens without errors, fits a phone and fetches nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fsnn_lava.report.report import write_report
from tests.helpers.report_case import EVIL, digits_case
from tests.whole.browser.chromium import Chromium, find

PROGRAM = find()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)")

PHONE, DESKTOP = 390, 1280
VISIBLE = "[...document.querySelectorAll('figure svg')].filter(s => s.checkVisibility())"
SHOWN = "[...document.querySelectorAll('#raster .tab')].map(tab => getComputedStyle(tab).display !== 'none')"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    case = digits_case()
    path = tmp_path_factory.mktemp("page") / "report.html"
    options = {"result": case.result, "values": case.values, "labels": case.labels, "model": case.model}
    write_report(path, verdict=case.verdict, chip=case.chip, **options, command=f"fsnn-run --data {EVIL}")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium(str(PROGRAM)) as browser:
        yield browser


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_opens_without_a_complaint_and_fetches_nothing(browser, report, width, dark):
    browser.open(report, width=width, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [report.resolve().as_uri()]
    assert browser.ask("document.readyState") == "complete"
    assert browser.ask("document.documentElement.scrollWidth") <= width


def test_everything_is_visible_and_text_keeps_its_letters(browser, report):
    browser.open(report, width=DESKTOP)
    sections = browser.ask("[...document.querySelectorAll('main > section')].map(s => s.id)")
    assert sections == [
        "verdict",
        "residual",
        "steps",
        "rates",
        "confusion",
        "raster",
        "activity",
        "costs",
        "weights",
        "cores",
        "provenance",
    ]
    assert browser.ask(f"{VISIBLE}.filter(s => s.clientWidth < 100 || s.clientHeight < 50).length") == 0
    assert browser.ask("document.scripts.length") == 0
    assert EVIL in browser.ask("document.body.textContent")
    smallest = f"Math.min(...{VISIBLE}.map(s => s.clientWidth / s.viewBox.baseVal.width))"
    assert browser.ask(smallest) > 1.0  # pixels per unit: letters of 10 units have 10 pixels


def test_every_picture_stays_inside_its_own_frame(browser, report):
    browser.open(report, width=PHONE)
    outside = """.flatMap(s => {
        const frame = s.getBoundingClientRect()
        return [...s.querySelectorAll('text')].filter(t => {
            const r = t.getBoundingClientRect()
            return Math.min(r.left - frame.left, frame.right - r.right, r.top - frame.top, frame.bottom - r.bottom) < -2
        }).map(t => t.textContent)})"""
    assert browser.ask(VISIBLE + outside) == []


def test_a_layer_of_the_raster_is_chosen_with_a_click(browser, report):
    browser.open(report, width=DESKTOP)
    assert browser.ask(SHOWN) == [True, False]
    browser.ask("document.querySelector('label[for=raster-tab-2]').click()")
    assert browser.ask(SHOWN) == [False, True]


def test_dark_is_dark_and_print_is_light_and_complete(browser, report):
    ink = "getComputedStyle(document.querySelector('#residual svg text')).fill"
    browser.open(report, width=DESKTOP)
    light = browser.ask(ink)
    browser.open(report, width=DESKTOP, dark=True)
    assert browser.ask(ink) != light
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.ask(SHOWN) == [True, True]
    browser.call("Emulation.setEmulatedMedia", media="")
    assert browser.pdf().startswith(b"%PDF")
