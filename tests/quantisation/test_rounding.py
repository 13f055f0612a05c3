"""Rounding step by step: the choices among candidates, and the exponents at the edges of their rules."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from fsnn_lava import limits
from fsnn_lava.quantisation import quantise, readout_rounding, rounding


def readout_error(made, rates, wanted):
    return float(np.mean(((rates @ made.weight.T * 2.0**made.exponent + made.bias) * made.scale - wanted) ** 2))


@pytest.mark.parametrize("bits", [3, 5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_the_readout_is_the_best_of_all_shares(bits, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    weight, bias, rates = rng.normal(size=(4, 30)), rng.normal(size=4), rng.random((50, 30))

    def made():
        return readout_rounding.round_readout(weight, bias, rates, bits=bits, decay=0, weight_sum=30.0)

    best, errors = made(), []
    for share in readout_rounding.SHARES:
        monkeypatch.setattr(readout_rounding, "SHARES", (share,))
        errors.append(readout_error(made(), rates, rates @ weight.T + bias))
    assert readout_error(best, rates, rates @ weight.T + bias) == min(errors)
    assert bits > 3 or min(errors) < errors[0]  # clipping pays


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


@pytest.mark.parametrize(
    ("logit", "bias", "highest", "exponent"),
    [
        (131071 / 32 * 0.999, 1e9, 9, 3),  # four times what calibration needs fits eight times
        (131071 / 32 * 1.001, 1e9, 9, 2),
        (131071 / 32 * 0.999, 1e9, 1, 1),  # no more than the weights have room for
        (1e6, 131071 / 8 * 0.999 - 6, 9, 3),  # the worst case asks for less: four weights of 3, two of them on one side
        (1e6, 131071 / 8 * 1.001 - 6, 9, 2),
        (1e30, 1e30, 9, limits.EXPONENT_RANGE[0]),
    ],
)
def test_the_readouts_exponent_keeps_a_run_inside_its_state(logit, bias, highest, exponent):
    weight, rates = np.array([[3.0, -3.0, 3.0, -3.0]]), np.full((2, 4), 0.01)
    found = readout_rounding._exponent(weight, rates, np.array([[1.0], [-logit]]), np.array([-bias]), 1.0, highest)
    assert found == exponent
    nothing = np.zeros((1, 4))
    assert readout_rounding._exponent(nothing, rates, nothing[:, :1], nothing[0, :1], 1.0, highest) == 0


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
