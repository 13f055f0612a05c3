"""Rounding step by step: the choices among candidates, and the exponents at the edges of their rules."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from fsnn_lava import limits
from fsnn_lava.quantisation import quantise, rounding


@pytest.mark.parametrize(
    ("vth", "potential_max", "step_max", "shift"),
    [
        (500.0, 0.0, 0.0, 0),  # the ends of the window belong to it
        (4000.0, 0.0, 0.0, 0),
        (499.0, 0.0, 0.0, 1),
        (60.0, 0.0, 0.0, 4),
        (4001.0, 0.0, 0.0, -1),
        (70000.0, 0.0, 0.0, -5),
        (4000.0, 10 * limits.THRESHOLD_MAX, 0.0, -3),  # headroom needs more than the window gives: 500 is reached, not left
        (4000.0, limits.THRESHOLD_MAX / 4.0, 0.0, 0),  # four times the largest potential just fits
        (4000.0, limits.THRESHOLD_MAX / 3.9, 0.0, -1),
        (4000.0, limits.THRESHOLD_MAX / 1.9, 0.0, -2),
        (4000.0, 0.0, limits.THRESHOLD_MAX / 1.06, 0),  # one step just fits
        (4000.0, 0.0, limits.THRESHOLD_MAX / 1.04, -1),
        (4000.0, 0.0, 15.0 * limits.THRESHOLD_MAX, -4),  # one step must not wrap: the window may be left for it
        (4096.0, 0.0, 1e9 * limits.THRESHOLD_MAX, -6),  # but not below 64
    ],
)
def test_the_exponent_keeps_the_threshold_in_its_window_and_gives_headroom(vth, potential_max, step_max, shift):
    problem = SimpleNamespace(vth=vth, potential_max=potential_max)
    assert rounding._exponent_shift(problem, np.array([1.0]), step_max) == shift
    assert (
        rounding._exponent_shift(SimpleNamespace(vth=vth / 8, potential_max=potential_max / 8), np.array([0.125, 0.125]), step_max / 8)
        == shift
    )


def test_the_unit_of_the_threshold_is_the_middle_one_and_that_of_the_headroom_the_smallest():
    units = np.array([1.0, 2.0, 64.0])
    assert rounding._exponent_shift(SimpleNamespace(vth=8000.0, potential_max=0.0), units, 0.0) == 0  # 4000 units of 2
    assert rounding._exponent_shift(SimpleNamespace(vth=8000.0, potential_max=limits.THRESHOLD_MAX / 3.9), units, 0.0) == -1
    assert rounding._exponent_shift(SimpleNamespace(vth=8000.0, potential_max=0.0), units, limits.THRESHOLD_MAX / 1.04) == -1


def test_shares_fall_from_the_whole_range():
    assert rounding.SHARES[0] == 1.0
    assert all(0 < after < before for before, after in pairwise(rounding.SHARES))


@pytest.mark.parametrize(
    ("kind", "divisor", "largest", "expected"),
    [("pixels", 255.0, 9, 255), ("pixels", 15.5, 9, 16), ("pixels", 0.5, 9, 9), ("pixels", 1.0, 0, 1), ("events", 255.0, 9, 9)],
)
def test_the_largest_message_is_what_was_seen_or_the_full_scale_of_images(kind, divisor, largest, expected):
    folded = SimpleNamespace(normalisation=SimpleNamespace(divisor=divisor))
    assert quantise._message_max(folded, np.array([[0, largest]], np.uint8), kind) == expected
