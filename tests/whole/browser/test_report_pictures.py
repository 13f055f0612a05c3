"""The pictures of docs/report.md are taken here: of a run that passes, of one with a wrong bit, of one that resets to zero.

FSNN_SCREENSHOTS=docs/pictures keeps them there, of more samples and as Lava processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fsnn_lava as fl
from fsnn_lava.cli.compare import fsnn_compare
from fsnn_lava.data import load
from fsnn_lava.formats.results import write_results
from fsnn_lava.report.evidence import Origin
from fsnn_lava.report.report import write_report
from tests.helpers.document_shell import LAVA
from tests.whole.browser.chromium import Chromium, find

PROGRAM = find()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)")

ROOT = Path(__file__).parents[3]
KEPT = os.environ.get("FSNN_SCREENSHOTS")
SAMPLES, FEWER, BACKEND = (364, 24, "sim" if LAVA else "emu") if KEPT else (8, 8, "emu")
PHONE, DESKTOP = 390, 1280

# name of the picture: (report, width of the window, what of the page, at most so many pixels high)
PICTURES = {
    "desktop": ("good", DESKTOP, "html", 1100),
    "phone": ("good", PHONE, "html", 1240),
    "dark": ("good", DESKTOP, "html", 700),
    "fail": ("fault", DESKTOP, "html", 1100),
    "pair": ("pair", DESKTOP, "html", 1100),
    **{
        name: ("good", DESKTOP, f"#{name}", 1000)
        for name in ("residual", "steps", "classes", "confusion", "mistakes", "samples", "rates", "activity", "costs", "weights", "cores")
    },
    "residual-bad": ("zero", DESKTOP, "#residual", None),
    "rates-bad": ("zero", DESKTOP, "#rates", None),
    "weights-bad": ("coarse", DESKTOP, "#weights", None),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    digits, models = load("digits"), ROOT / "examples" / "models" / "digits"
    net, chip = fl.FSNN.load(models / "model.pt"), fl.ChipNetwork.load(models / "net.h5")
    calibration = digits.train.batch(range(128))
    cases = {
        "good": (chip, chip),
        "fault": (chip, with_a_wrong_bit(chip)),
        "zero": (zero := fl.quantise(net, reset="zero", calibration=calibration), zero),
        "coarse": (coarse := fl.quantise(net, bits=3, calibration=calibration), coarse),
    }
    for name, (told, ran) in cases.items():
        number = SAMPLES if name == "good" else FEWER
        pixels, labels = digits.test.batch(range(number)), digits.test.labels[:number]
        result = replace(fl.run(ran, pixels, backend=BACKEND), digest=told.digest())
        verdict = fl.compare(result, told, pixels, labels=labels, model=net)
        assert verdict.passed == (name != "fault")
        origin = Origin(data="digits", date="2026-11-17T12:00:00+00:00")
        run = {"chip": told, "result": result, "values": pixels, "labels": labels, "model": net, "origin": origin}
        write_report(folder / f"{name}.html", verdict=verdict, **run)
        if name in ("good", "coarse"):
            write_results(folder / f"{name}.h5", result, told, pixels, labels=labels, data="digits")
    two = [str(folder / "good.h5"), str(folder / "coarse.h5"), "--report", str(folder / "pair.html"), "--equilibria", "4"]
    assert fsnn_compare(two) == 0
    return folder


def with_a_wrong_bit(chip: fl.ChipNetwork) -> fl.ChipNetwork:
    """The network with one bit of one feedback weight flipped."""
    wrong = chip.feedback[0]
    weight = wrong.weight.copy()
    weight[3, 5, 1, 1] ^= 4
    return replace(chip, synapses=tuple(replace(s, weight=weight) if s is wrong else s for s in chip.synapses))


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium(str(PROGRAM)) as browser:
        yield browser


def test_the_pictures_of_the_documentation_can_be_taken(browser, reports, tmp_path):
    folder = Path(KEPT or tmp_path)
    for name, (report, width, part, height) in PICTURES.items():
        browser.open(reports / f"{report}.html", width=width, dark=name == "dark")
        browser.picture(tmp_path / "raw.png", of=part, height=height)
        with Image.open(tmp_path / "raw.png") as raw:
            assert np.asarray(raw.convert("L")).std() > 5, name  # something is drawn
            raw.convert("RGB").quantize(96).save(folder / f"{name}.png", optimize=True)
    assert {path.stem for path in (ROOT / "docs" / "pictures").glob("*.png")} == set(PICTURES)


def test_the_page_about_the_report_describes_every_section_and_shows_every_picture(browser, reports):
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    browser.open(reports / "good.html", width=DESKTOP)
    for title in browser.ask("[...document.querySelectorAll('main > section > h2')].map(h => h.textContent)"):
        assert f"## {title}\n" in text
    for check in browser.ask("[...document.querySelectorAll('.check')].map(c => c.id.slice(6))"):
        assert f"**{check}**" in text
    for name in PICTURES:
        assert f"pictures/{name}.png" in text
