"""A check: its mark, and the description of where it failed."""

from __future__ import annotations

import pytest

from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, first_offender_layer, not_done, offender_text
from fsnn_lava.verify.checks.charge import ChargeCheck
from fsnn_lava.verify.checks.sums import SumsCheck
from fsnn_lava.verify.neuron_index import neuron_offender
from tests.helpers.chip_networks import conv_network


@pytest.mark.parametrize(("passed", "mark", "ok"), [(True, "ok", True), (False, "FAIL", False), (None, "--", True)])
def test_what_was_not_done_is_neither_ok_nor_failed(passed, mark, ok):
    check = Check(name="charge", passed=passed, summary="")
    assert (check.mark, check.ok, check.done) == (mark, ok, passed is not None)


def test_a_missed_threshold_is_not_a_failure_but_not_ok_either():
    check = Check(name="accuracy", passed=True, missed=("accuracy must be at least 99%",), summary="")
    assert (check.mark, check.ok, check.passed) == ("MISS", False, True)
    assert Check(name="charge", passed=False, missed=("a threshold",), summary="").mark == "FAIL"


def test_what_is_not_required_is_only_measured():
    assert Check(name="settled", passed=True, judges=False, summary="").mark == "info"


def test_a_check_that_was_not_done_says_why():
    left_out = not_done("shift", "export", "no model")
    assert (left_out.done, left_out.passed, left_out.link, left_out.summary) == (False, None, "export", "not done: no model")


def test_an_offender_is_named_from_the_sample_to_the_step():
    full = {"what": "lost", "step": 4, "neuron": [0, 4, 5], "layer": "conv1", "sample": 3}
    assert offender_text(full) == "sample 3, layer 'conv1', neuron (0, 4, 5), step 4: lost"
    assert offender_text({"what": "lost"}) == ": lost"


def test_the_layer_of_the_first_offender_of_a_kind_is_named():
    offenders = [{"layer": "l1", "kind": "clip"}, {"layer": "l2", "kind": "charge"}, {"layer": "l3", "kind": "charge"}]
    assert first_offender_layer(offenders, "charge") == "; the first is in layer 'l2'"
    assert first_offender_layer(offenders, "sum") == ""
    with pytest.raises(ValueError, match=r"a violation \(sum\) but none is listed"):
        first_offender_layer([], "sum")


@pytest.mark.parametrize(("check", "found"), [(ChargeCheck, "charge is not conserved in 1 of"), (SumsCheck, "is wrong in 1 of")])
def test_clips_that_fill_the_list_do_not_hide_a_violation(check, found):
    """Only the first offenders are kept, and those of an earlier sample come first, so none of the right kind may be left."""
    chip = conv_network(1)
    full = check(chip)
    full.violated, full.offenders = 1, [neuron_offender(chip, 0, 0, flat, kind="clip", what="clipped") for flat in range(OFFENDERS_KEPT)]
    outcome = full.check()
    assert not outcome.passed and found in outcome.summary and "the first is in layer" not in outcome.summary
