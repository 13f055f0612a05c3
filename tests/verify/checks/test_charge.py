"""The charge check (E10): what its summary says, and what it leaves to others."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from fsnn_lava.verify.comparator import compare
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_simulator import simulate


def test_the_summary_says_whether_charge_is_conserved_exactly():
    """Integrate-and-fire in integers: the interval has no width. With a leak it has one, and the summary says it."""
    for decay, rule in (
        (0, "conserved exactly in all 8 neurons of 3 samples"),
        (100, r"conserved within [\d.]+ units of 2\^-6 in all 8 neurons of 3 samples"),
    ):
        chip = dense_network(1, decay=decay)
        values = np.random.default_rng(0).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
        assert re.search(rule, compare(simulate(chip, values), chip, values).check("charge").summary)


def test_a_clipped_readout_is_not_reported_as_lost_charge():
    """It fails as a clip; which class was clipped is not recorded, so no class is named."""
    base = dense_network(1, size=5)
    chip = replace(base, readout=replace(base.readout, bias=np.array([5, 2**17 - 1, 9])))
    values = np.random.default_rng(0).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    charge = compare(simulate(chip, values), chip, values).check("charge")
    assert (charge.numbers["violated"], charge.numbers["harmful_clips"]) == (0, 3)
    assert {o["kind"] for o in charge.offenders} == {"clip"}
