"""The confusion matrix: rows are labels, columns are answers."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot

import fsnn_lava as fl


@pytest.fixture(autouse=True)
def _closed():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def test_a_row_is_a_label_and_a_column_an_answer():
    axes = fl.plot.confusion(np.array([0, 2, 2, 2]), [0, 1, 1, 2], class_names=["cat", "dog", "owl"])
    assert {(*text.get_position(), text.get_text()) for text in axes.texts} == {(0, 0, "1"), (2, 1, "2"), (2, 2, "1")}
    assert axes.get_title() == "2 of 4 correct (50.00%)"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["cat", "dog", "owl"]


def test_answers_without_labels_and_labels_without_names_are_refused():
    with pytest.raises(fl.BadArgument, match=r"answers and labels must both have shape \[B\], got \[2\] answers and \[3\] labels"):
        fl.plot.confusion([0, 1], [0, 1, 2])
    with pytest.raises(fl.BadArgument, match=r"answers must be the Result of a run, or class numbers \[B\], got list of float64"):
        fl.plot.confusion([0.1, 0.9], [0, 1])
    with pytest.raises(fl.BadArgument, match="class numbers must be between 0 and 1"):
        fl.plot.confusion([0, 2], [0, 1], class_names=["cat", "dog"])
