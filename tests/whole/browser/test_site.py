"""The documentation in a real browser, opened from disk: it fetches nothing, fits a phone, and its search works."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.documentation import build
from tests.whole.browser.chromium import Chromium, find

PROGRAM = find()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)")

PHONE, DESKTOP, PAPER = 390, 1280, 718  # pixels; A4 between its margins
ASK = """(word => {
    const field = document.querySelector('.md-search__input')
    field.focus(); field.value = word; field.dispatchEvent(new KeyboardEvent('keyup'))
})"""
CUT = """[...document.querySelectorAll('article pre, article table, article img')]
    .filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 80))"""
COMMENT = "getComputedStyle(document.querySelector('pre .c1, pre .c')).color"
FOUND = "[...document.querySelectorAll('.md-search-result__item > a')].map(a => a.getAttribute('href'))"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium(str(PROGRAM)) as browser:
        yield browser


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_every_page_opens_without_a_complaint_and_fetches_nothing(browser, site, width):
    for page in sorted(set(site.glob("*.html")) - {site / "404.html"}):  # that one is for servers
        browser.open(page, width=width)
        assert browser.complaints() == [], page.name
        assert [address for address in browser.requests() if not address.startswith(site.as_uri())] == [], page.name
        assert browser.ask("document.documentElement.scrollWidth") <= width, page.name
        assert browser.ask("[...document.images].filter(image => !image.naturalWidth).length") == 0, page.name


def test_the_search_answers_from_the_disk(browser, site):
    browser.open(site / "index.html", width=DESKTOP)
    browser.ask(f"{ASK}('contraction')")
    for _ in range(300):
        found = browser.ask(FOUND)
        if found:
            break
        time.sleep(0.1)
    assert any("equations.html" in address for address in found)
    assert browser.complaints() == []


def test_dark_is_dark(browser, site):
    colours = []
    for dark in (False, True):
        browser.open(site / "equations.html", width=DESKTOP, dark=dark)
        colours.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] != colours[1]


@pytest.mark.parametrize("page", ["index", "verified", "commands", "notebook-04_verify", "report"])
def test_paper_shows_whole_lines_and_tables_in_dark_ink(browser, site, page):
    browser.open(site / f"{page}.html", width=PAPER)
    ink = browser.ask("getComputedStyle(document.querySelector('article p')).color")
    browser.open(site / f"{page}.html", width=PAPER, dark=True)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    try:
        assert browser.ask(CUT) == []
        assert browser.ask("getComputedStyle(document.querySelector('article p')).color") == ink
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_code_is_printed_in_the_colours_of_light_pages(browser, site):
    browser.open(site / "index.html", width=PAPER)
    light = browser.ask(COMMENT)
    browser.open(site / "index.html", width=PAPER, dark=True)
    assert browser.ask(COMMENT) != light
    browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert browser.ask(COMMENT) == light
    browser.call("Emulation.setEmulatedMedia", media="")


def test_without_scripts_pages_are_complete_and_the_menu_opens(browser, site):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(site / "verified.html", width=PHONE)
        assert browser.complaints() == []
        assert browser.ask("document.documentElement.scrollWidth") <= PHONE
        assert browser.ask("document.querySelector('article').checkVisibility()")
        browser.ask("document.querySelector('label[for=__drawer]').click()")
        time.sleep(1)
        assert browser.ask("document.querySelector('.md-sidebar--primary').getBoundingClientRect().left") >= 0
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
