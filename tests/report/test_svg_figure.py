"""Drawings: tick labels, colours, pictures."""

from __future__ import annotations

from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from fsnn_lava.report.svg_figure import (
    BLUE,
    COLOURS,
    add_tip,
    add_tip_columns,
    columns_around,
    figure_svg,
    figure_tick_label,
    new_figure,
    report_figure_style,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.001, "0.001"), (30, "30"), (99999, "99999"), (1e5, "10⁵"), (1e-5, "10⁻⁵"), (2.5e-12, "2.5·10⁻¹²"), (-2e6, "-2·10⁶")],
)
def test_a_tick_label_is_plain_text(value, text):
    assert figure_tick_label(value) == text


def test_a_drawing_takes_the_colours_of_the_page_and_escapes_its_description():
    with report_figure_style():
        figure = new_figure(200, 100)
        figure.subplots().plot([0, 1], [1, 0], color=BLUE)
        drawn = figure_svg(figure, name="a", alt='5 < 6 & "so"')
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == '5 < 6 & "so"' and root.get("style") == "max-width: 290px"
    assert "var(--blue)" in drawn and not any(colour in drawn for colour in COLOURS.values())


def test_a_part_of_a_drawing_shows_its_tip_as_text():
    with report_figure_style():
        figure = new_figure(200, 100)
        axes = figure.subplots()
        add_tip(axes.bar([0], [1])[0], 'a <b> & "c"')
        add_tip_columns(axes, np.array([0.0, 1.0, 2.0]), ["first", "second"])
        drawn = figure_svg(figure, name="a", alt="bars")
    titles = [element.text for element in ElementTree.fromstring(drawn).iter() if element.tag.endswith("title")]
    assert titles == ['a <b> & "c"', "first", "second"]


def test_columns_meet_halfway_between_positions():
    np.testing.assert_allclose(columns_around([1, 2, 4]), [0.5, 1.5, 3.0, 4.5])
    np.testing.assert_allclose(columns_around([1, 4, 16], logarithmic=True), [0.5, 2, 8, 32])


def test_the_style_ends_with_its_block():
    before = matplotlib.rcParams["font.size"]
    with report_figure_style():
        assert matplotlib.rcParams["font.size"] == 10.5
    assert matplotlib.rcParams["font.size"] == before
