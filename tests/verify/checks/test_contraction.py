"""The contraction check: its states, its sentences, the samples it lists."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.checks.contraction import ContractionCheck
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.thresholds import Thresholds
from tests.helpers.naive_simulator import simulate
from tests.verify.test_comparator import loop_network

ZERO = np.zeros((1, 1), np.uint8)


def numbered(offset):
    """As much of a batch as the check asks for."""
    return SimpleNamespace(sample=lambda row: offset + int(row))


@pytest.mark.parametrize(
    ("weight", "options", "begins"),
    [
        ([[30, -20], [25, 10]], {}, "certified: the spectral radius of the layer gains is at most"),
        (
            [[0, 120], [0, 0]],
            {"bias": (-20, 55)},
            "local: the operator norms only bound the spectral radius by 1.2, but at the equilibria that of the derivative is at most",
        ),
    ],
)
def test_the_sentence_about_the_contraction_is_that_of_its_state(weight, options, begins):
    chip = loop_network(weight, **options)
    verdict = compare(simulate(chip, ZERO), chip, ZERO)
    assert verdict.check("contraction").summary.startswith(begins)
    share = verdict.check("residual").numbers["distance_share_of_bound"]
    assert (share is not None) == begins.startswith("certified")  # without a certificate there is no bound to have a share of


def test_samples_without_an_equilibrium_are_counted_in_the_sentence():
    """One of three samples whose solver stopped far from a fixed point."""
    chip = loop_network([[127, 0], [0, 127]], threshold=80)
    check = ContractionCheck(chip, Certificate(RateMap(chip)), Thresholds())
    check.add(numbered(0), Equilibria((np.zeros((3, 2)),), np.array([0.0, 0.5, 0.0])), None)
    assert "and no equilibrium was found for 1 of 3 samples" in check.check().summary
    assert check.check().ok
    check.thresholds = Thresholds(contraction="local")
    assert check.check().mark == "MISS"


def test_the_first_three_samples_without_an_equilibrium_are_listed_whatever_the_batches():
    """Samples 1 and 2, then 4 and 5, then 7: five without one, 1, 2 and 4 are named."""
    chip = loop_network([[127, 0], [0, 127]], threshold=80)
    check = ContractionCheck(chip, Certificate(RateMap(chip)), Thresholds())
    for offset, left in ((0, [0.0, 0.5, 0.5]), (3, [0.0, 0.5, 0.5]), (6, [0.0, 0.5, 0.0])):
        check.add(numbered(offset), Equilibria((np.zeros((3, 2)),), np.array(left)), None)
    assert (check.solved, check.unsolved) == (4, 5)
    assert [o["sample"] for o in check.offenders] == [1, 2, 4]


@pytest.mark.parametrize(("radii", "state"), [([0.5, 0.99], "local"), ([0.5, 1.0], "none"), ([1.5, 0.5], "none")])
def test_only_radii_below_one_at_every_equilibrium_are_local(radii, state):
    chip = loop_network([[127, 0], [0, 127]], threshold=80)
    check = ContractionCheck(chip, Certificate(RateMap(chip)), Thresholds())
    check.add(numbered(0), Equilibria((np.zeros((2, 2)),), np.zeros(2)), np.array(radii))
    assert check.state() == state
