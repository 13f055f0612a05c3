"""A threshold is met at its exact value and missed just beyond it; margins and shares computed by hand."""

from __future__ import annotations

from dataclasses import replace
from math import nextafter

import numpy as np
import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.checks.accuracy import AccuracyCheck
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.wilson_interval import wilson_interval
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_simulator import simulate


def counted(**thresholds: float) -> AccuracyCheck:
    """Three of four right, one of two agreeing, two of five neurons dead."""
    check = AccuracyCheck(dense_network(1), Thresholds(**thresholds))
    check.samples, check.labelled, check.right, check.judged, check.agreeing = 4, 4, 3, 2, 1
    check.spiked = [np.array([True, False, True, False, True])]
    return check


@pytest.mark.parametrize(("name", "share", "beyond"), [("accuracy_min", 0.75, 1.0), ("agreement_min", 0.5, 1.0), ("dead_max", 0.4, 0.0)])
def test_a_threshold_is_met_at_its_exact_value(name, share, beyond):
    assert counted(**{name: share}).check().mark == "ok"
    assert counted(**{name: nextafter(share, beyond)}).check().mark == "MISS"
    assert counted().check().mark == "info"


def test_answers_that_cannot_be_verified_are_counted_apart():
    """Of four further samples one has no label and two are right."""
    check = counted()
    check.add_rows(np.array([1, 2, 0, 1]), np.array([1, 0, -1, 1]))
    accurate = check.accurate()
    assert (accurate.accuracy, accurate.samples, accurate.recorded, accurate.recorded_accuracy) == (0.75, 4, 3, 2 / 3)
    assert check.check().numbers["samples"] == 4
    assert "as recorded, 66.67% of 3 further samples, which were not compared" in check.check().summary


@pytest.mark.parametrize("name", ["accuracy_min", "agreement_min", "dead_max"])
def test_a_share_may_be_0_and_1_but_not_beyond(name):
    for share in (0.0, 1.0):
        assert getattr(Thresholds(**{name: share}), name) == share
    for share in (nextafter(0.0, -1.0), nextafter(1.0, 2.0), float("nan")):
        with pytest.raises(BadArgument, match=name):
            Thresholds(**{name: share})


def checked(chip, *runs):
    """The numbers of the check for runs in which these fields are replaced."""
    check, values = AccuracyCheck(chip, Thresholds()), np.zeros((1, *chip.input.shape), np.uint8)
    for run in runs:
        check.add(Batch(chip=chip, result=replace(simulate(chip, values), **run), values=values, labels=None, offset=check.samples), None)
    return check.check().numbers


@pytest.mark.parametrize(("readout", "units"), [([640, -64, 1280], 640), ([64, 64, -128], 0), ([-128], 128)])
def test_the_margin_is_that_of_the_first_answer_over_the_second(readout, units):
    """Units of 2**-6 of an accumulator of scale 0.01, over 20 steps; of one class the margin is its distance to 0."""
    chip = dense_network(1, classes=len(readout))
    numbers = checked(chip, {"readout": np.array([readout], np.int32)})
    assert numbers["margin_min"] == numbers["margin_median"] == pytest.approx(units / 64 * 0.01 / 20, rel=1e-12)
    assert numbers["ties"] == (units == 0)


def test_a_neuron_that_spiked_in_every_step_of_every_sample_is_saturated():
    """Of five neurons in two samples of 20 steps the first is; the second paused once in one of them; the third never spiked."""
    counts = np.array([[20, 20, 0, 7, 19], [20, 19, 0, 0, 20]], np.int32)
    layer = checked(dense_network(1), *({"counts": (row[None],), "traces": (row[None] * 1.0,)} for row in counts))["layers"][0]
    assert (layer["saturated"], layer["dead"]) == (pytest.approx(1 / 5), pytest.approx(1 / 5))
    assert layer["rate_mean"] == pytest.approx(counts.sum() / (2 * 5 * 20))


def test_wilson_intervals_have_known_values():
    # 81 of 263: 0.2553 … 0.3662 (Newcombe 1998, table I, method 3)
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson_interval(20, 20)[1] == 1.0
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_wrong_answers_and_those_unlike_the_float_network_are_listed():
    """Sample 1 has no label and is unlike the float network, sample 2 is wrong, sample 3 is both."""
    chip = dense_network(1)
    values = np.random.default_rng(0).integers(0, 256, (4, *chip.input.shape), dtype=np.uint8)
    result = simulate(chip, values)
    answers, classes = result.predictions, chip.readout.classes
    others = (answers + 1) % classes
    labels = np.array([answers[0], -1, others[2], others[3]])
    floats = np.array([answers[0], others[1], answers[2], others[3]])
    check = AccuracyCheck(chip, Thresholds())
    check.add(Batch(chip=chip, result=result, values=values, labels=labels, offset=10), floats)
    found = check.check().series["errors"]
    assert [row[:4] for row in found] == [[10 + n, labels[n], answers[n], floats[n]] for n in (1, 2, 3)]
    logits = np.sort(result.logits[2])
    assert found[1][4] == pytest.approx(logits[-1] - logits[-2])
    again = AccuracyCheck(chip, Thresholds())
    again.take_in(check.hand_over())
    assert again.check().series["errors"] == found
