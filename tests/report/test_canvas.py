"""Drawings: tick labels, colours, pictures."""

from __future__ import annotations

import base64
import io
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib import image

from fsnn_lava.report.canvas import BLUE, COLOURS, figure_style, figure_svg, image_url, new_figure, tick_label


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.001, "0.001"), (30, "30"), (99999, "99999"), (1e5, "10⁵"), (1e-5, "10⁻⁵"), (2.5e-12, "2.5·10⁻¹²"), (-2e6, "-2·10⁶")],
)
def test_a_tick_label_is_plain_text(value, text):
    assert tick_label(value) == text


def test_a_drawing_takes_the_colours_of_the_page_and_escapes_its_description():
    with figure_style():
        figure = new_figure(200, 100)
        figure.subplots().plot([0, 1], [1, 0], color=BLUE)
        drawn = figure_svg(figure, name="a", alt='5 < 6 & "so"')
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == '5 < 6 & "so"' and root.get("style") == "max-width: 290px"
    assert "var(--blue)" in drawn and not any(colour in drawn for colour in COLOURS.values())


def test_the_style_ends_with_its_block():
    before = matplotlib.rcParams["font.size"]
    with figure_style():
        assert matplotlib.rcParams["font.size"] == 10.5
    assert matplotlib.rcParams["font.size"] == before


def test_a_picture_keeps_its_pixels():
    """A dark image stays dark: grey values are not stretched."""
    pixels = np.array([[10, 20], [30, 40]], np.uint8)
    content = base64.b64decode(image_url(pixels).removeprefix("data:image/png;base64,"))
    np.testing.assert_allclose(image.imread(io.BytesIO(content))[..., 0] * 255, pixels, atol=0.5)
