"""Scores of answers that are not classes: batches add up to what the whole gives, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.errors import BadNetwork
from fsnn_lava.running.task_score import make_task_score

OUTPUTS = np.array([[2.0, -1.0], [0.5, 0.0], [-3.0, 4.0]])


def test_the_label_score_counts_outputs_above_zero_as_present() -> None:
    score = make_task_score("multi-label")
    assert score.value is None
    score.add(OUTPUTS[:2], np.array([[1, 0], [0, 0]], np.float32))
    score.add(OUTPUTS[2:], np.array([[0, 1]], np.float32))
    assert score.value == pytest.approx(5 / 6)
    assert score.to_text(3) == "83.33% of the labels are right (5 of 6, 3 samples)"


def test_the_variance_score_is_that_of_all_samples_together() -> None:
    targets = np.array([[1.0, -1.0], [0.5, 1.0], [-2.0, 4.0]], np.float32)
    score = make_task_score("regression")
    for part in (slice(0, 1), slice(1, 3)):
        score.add(OUTPUTS[part], targets[part])
    exact = targets.astype(np.float64)
    expected = 1 - ((OUTPUTS - exact) ** 2).sum() / ((exact - exact.mean(0)) ** 2).sum()
    assert score.value == pytest.approx(expected, rel=1e-12)
    assert score.to_text(3) == f"explained variance {expected:.4f} (3 samples)"


def test_equal_targets_have_no_variance_to_explain() -> None:
    score = make_task_score("regression")
    score.add(OUTPUTS, np.ones((3, 2), np.float32))
    assert score.value is None
    assert "not defined, because all targets are equal" in score.to_text(3)


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(BadNetwork, match="the network's task is 'ranking', which is unknown"):
        make_task_score("ranking")
