"""The values that a part of a ChipNetwork may have: up to the limit, and nothing beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.validation import checked_decay, checked_exponent, checked_integers, checked_pair, checked_scale, checked_shape


def test_integers_are_kept_as_a_copy_that_nobody_can_change():
    given = np.array([-127, 127])
    kept = checked_integers(given, np.int8, -127, 127, "weight")
    given[0] = 5
    assert (kept.tolist(), kept.dtype) == ([-127, 127], np.int8)
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([-128], "here: must be between -127 and 127, got -128 … -128"),
        ([3, 128], "here: must be between -127 and 127, got 3 … 128"),
        ([0.5], "here: must hold integers, got float64"),
        ([True], "here: must hold integers, got bool"),
    ],
)
def test_a_number_out_of_range_or_of_another_kind_is_refused(value, sentence):
    with pytest.raises(BadNetwork, match=sentence):
        checked_integers(np.array(value), np.int8, -127, 127, "here")


def test_exponents_and_decays_reach_their_limits():
    assert [checked_exponent(value, "x") for value in (-24, 12)] == [-24, 12]
    assert [checked_decay(value, "x") for value in (0, 4095)] == [0, 4095]
    for check, value, sentence in (
        (checked_exponent, -25, "exponent must be between -24 and 12, got -25"),
        (checked_exponent, 13, "exponent must be between -24 and 12, got 13"),
        (checked_decay, -1, r"decay must be between 0 and 4095 \(1/4096\), got -1"),
        (checked_decay, 4096, r"decay must be between 0 and 4095 \(1/4096\), got 4096"),
    ):
        with pytest.raises(BadNetwork, match=sentence):
            check(value, "x")


def test_shapes_have_one_or_three_sizes():
    assert [checked_shape(shape, "x") for shape in ([3], [1, 2, 3])] == [(3,), (1, 2, 3)]
    for shape, sentence in (
        ((), "must be"),
        ((2, 3), r"shape must be \(N,\) or \(C, H, W\), got \(2, 3\)"),
        ((1, 0, 3), "must be positive"),
    ):
        with pytest.raises(BadNetwork, match=sentence):
            checked_shape(shape, "x")
    with pytest.raises(BadNetwork, match=r"stride must be two numbers, got \(1,\)"):
        checked_pair([1], "stride")


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), [0.1, 0.0]])
def test_a_scale_is_positive_and_finite(scale):
    with pytest.raises(BadNetwork, match="scale must be positive and finite"):
        checked_scale(scale, (2, 3, 3), "x")


def test_a_scale_is_one_number_or_one_per_channel():
    assert checked_scale([0.1, 0.2], (2, 3, 4), "x").tolist() == [0.1, 0.2]
    with pytest.raises(BadNetwork, match=r"one number or one per channel, got shape \(3,\)"):
        checked_scale([0.1] * 3, (2, 3, 4), "x")
