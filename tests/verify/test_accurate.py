"""The accuracy in the first line of a verdict."""

from __future__ import annotations

from fsnn_lava.verify.accurate import Accurate


def test_the_float_network_is_shown_next_to_the_accuracy_if_it_is_known():
    alone = Accurate(accuracy=0.5, interval=(0.25, 0.75), samples=4)
    assert str(alone) == "50.00% (25.00% … 75.00%)"
    beside = Accurate(accuracy=0.5, interval=(0.25, 0.75), samples=4, float_accuracy=1.0)
    assert str(beside) == "50.00% (25.00% … 75.00%), float 100.00%"
