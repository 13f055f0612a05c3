"""Settled, for delta encoding: the dead band is what a run can resolve (E16)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsnn_lava.ir.network import DeltaEncoding
from fsnn_lava.running.run import run
from fsnn_lava.verify.checks.delta_settling import DeltaSettled
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.thresholds import Thresholds
from tests.backends.emulator.test_delta import pixels, toy


def test_a_silent_run_is_settled_and_says_so():
    chip = toy(1, steps=12)
    verdict = compare(run(chip, pixels((20, 0))), chip, pixels((20, 0)))
    assert isinstance(verdict.settled, DeltaSettled) and verdict.settled.answer == "yes"
    assert verdict.settled.silent == 1.0 and verdict.settled.cycles == 0
    assert verdict.settled.residual <= verdict.settled.resolution == 2 / 64
    assert "100.00% of the samples fell silent" in str(verdict.settled)


def test_a_limit_cycle_is_not_settled_but_faithful():
    chip = toy(-4, steps=12)
    verdict = compare(run(chip, pixels((20, 0))), chip, pixels((20, 0)))
    assert verdict.faithful and verdict.settled is not None and verdict.settled.answer == "no"
    assert "1 ended in a limit cycle" in str(verdict.settled)
    assert verdict.settled.outlook() == "" and "reset to zero" not in str(verdict.settled)


def test_a_run_that_ends_too_early_has_messages_in_transit():
    chip = toy(3, band=1, steps=2)
    verdict = compare(run(chip, pixels((20, 0))), chip, pixels((20, 0)))
    assert verdict.faithful and verdict.settled is not None and verdict.settled.answer != "yes"


def test_a_threshold_of_the_user_replaces_the_dead_band():
    chip = replace(toy(1, steps=12), delta=DeltaEncoding(rate_bits=6, dead_bands=(8,)))
    values = pixels((20, 0))
    loose, tight = (compare(run(chip, values), chip, values, thresholds=Thresholds(residual_max=most)) for most in (0.5, 0.001))
    assert loose.passed and loose.settled is not None and loose.settled.level == 0.5
    assert not tight.passed and tight.word == "MISSED"


def test_the_bound_holds_with_equality_up_to_one_unit():
    """E16 on the toy: |f(a) - a| <= |y - told| + 2**-q + |W (under way)| / vth at every length of a run."""
    for steps in range(1, 12):
        chip, values = toy(3, band=5, steps=steps), pixels((20, 0), (3, 1), (255, 0), (0, 255))
        check = compare(run(chip, values), chip, values).check("residual")
        assert check.passed, check.summary
        assert check.numbers["residual_max"] <= check.numbers["bound_max"] + np.finfo(float).eps
