"""What follows from accuracy against steps, in one sentence, by hand."""

from __future__ import annotations

import pytest

from fsnn_lava.report.accuracy_curve import StepsPoint, steps_conclusion


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
