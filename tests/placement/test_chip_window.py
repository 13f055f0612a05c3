"""The window of a sample on the chip."""

from __future__ import annotations

import pytest

from fsnn_lava.placement.chip_window import ChipWindow


@pytest.mark.parametrize(("steps", "layers", "length"), [(30, 1, 32), (31, 1, 64), (30, 5, 64), (5, 1, 8), (100, 5, 128)])
def test_a_window_is_a_power_of_two_with_a_step_to_fall_silent(steps, layers, length):
    window = ChipWindow(steps=steps, layers=layers)
    assert window.length == length
    assert window.closes(layers + 1) < window.length
    assert [window.opens(layer) for layer in (1, layers + 1)] == [1, layers + 1]


def test_a_window_counts_late_openings_and_the_way_to_the_host():
    """Two layers and the readout open at 3, 4 and 5, T = 4: the last step that is counted is 8, two later it is on the host."""
    window = ChipWindow(steps=4, layers=2, first=3, latency=2)
    assert [(window.opens(layer), window.closes(layer)) for layer in (1, 2, 3)] == [(3, 6), (4, 7), (5, 8)]
    assert (window.used, window.length) == (10, 16)
    assert "T = 4 steps takes a window of 16 chip steps" in str(window)
