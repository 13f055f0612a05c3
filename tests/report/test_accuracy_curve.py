"""Accuracy against steps: what follows from it in one sentence, by hand, and a figure whose labels can be read."""

from __future__ import annotations

import pytest
from matplotlib.text import Annotation

from fsnn_lava.report.accuracy_curve import StepsPoint, draw_accuracy_curve, steps_conclusion
from fsnn_lava.report.svg_figure import report_figure_style


def points(*changes: tuple[int, int, int]) -> list[StepsPoint]:
    """(steps, lost, gained) against a run with 90 of 100 right."""
    return [StepsPoint(steps, 90 + gained - lost, 100, lost, gained) for steps, lost, gained in changes]


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        (points((8, 0, 0), (16, 1, 0), (32, 0, 0), (64, 0, 0)), "8 steps do as well as 32 on these 100 samples."),
        (points((8, 9, 0), (16, 1, 2), (32, 0, 0)), "16 steps do as well as 32 on these 100 samples."),
        # 2 lost, 0 gained: p = 2 / 2**2
        (
            points((16, 2, 0), (32, 0, 0)),
            "16 steps do about as well as 32: 2 fewer of 100 answers are right, which may be due to chance (p = 0.5).",
        ),
        (points((16, 9, 0), (32, 0, 0)), "Fewer steps cost accuracy: after 16 instead of 32, 9 fewer of 100 answers are right."),
        (points((16, 9, 0), (32, 0, 0), (64, 0, 8)), "More steps help: after 64 instead of 32, 8 more of 100 answers are right."),
        (points((1, 0, 0)), ""),
    ],
)
def test_the_conclusion_is_what_the_answers_support(measured, sentence):
    run = 1 if len(measured) == 1 else 32
    assert steps_conclusion(measured, run) == sentence


def test_chance_is_mcnemar_s_exact_test():
    assert StepsPoint(8, 0, 10, 5, 0).by_chance == pytest.approx(2 / 2**5)
    assert StepsPoint(8, 0, 10, 1, 1).by_chance == 1.0


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("shares", [(98, 95, 90, 90), (60, 75, 90, 91), (90, 90, 90, 90), (80, 95, 90, 97)])
def test_no_line_crosses_a_label(shares, whole):
    measured = [StepsPoint(8 * 2**n, right, 100, max(0, 90 - right), max(0, right - 90)) for n, right in enumerate(shares)]
    with report_figure_style():
        figure = draw_accuracy_curve(measured, steps=32, labelled=True, whole=whole).figure
        figure.draw_without_rendering()
    (axes,) = figure.axes
    labels = [text.get_window_extent() for text in axes.texts if isinstance(text, Annotation)]
    lines = [line.get_transform().transform_path(line.get_path()) for line in axes.lines if line.get_linestyle() != "None"]
    bars = [bars.get_transform().transform_path(path) for bars in axes.collections for path in bars.get_paths()]
    assert (len(labels), len(lines), len(bars)) == (4, 2, 4 if whole else 0)  # the curve and where T is
    assert not any(line.intersects_bbox(label, filled=False) for label in labels for line in (*lines, *bars))
    assert all(figure.bbox.containsx(label.x1) and figure.bbox.containsy(label.y1) for label in labels)
