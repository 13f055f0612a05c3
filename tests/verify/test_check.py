"""A check: its mark, and the description of where it failed."""

from __future__ import annotations

import pytest

from fsnn_lava.verify.check import Check, not_done, offender_text


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
