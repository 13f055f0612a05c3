"""The certificate check: what it counts and says, and that it never claims more than the certificate of the whole network."""

from __future__ import annotations

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.data import load
from fsnn_lava.models.find import find_model
from fsnn_lava.verify import sampling
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.sampling import CERTIFIED_SAMPLES, certified_samples
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_simulator import simulate
from tests.verify.test_comparator import loop_network

ZERO = np.zeros((1, 1), np.uint8)


def test_on_the_digits_no_sample_has_a_bound_above_that_of_the_gains():
    chip = fl.ChipNetwork.load(find_model("digits"))
    values = load("digits").test.batch(slice(0, 8))
    comparator = Comparator(chip, equilibrium_samples=8)
    comparator.add(fl.run(chip, values), values)
    check = comparator.certificate
    assert (check.samples, check.certified) == (8, 8)
    assert all(own <= whole for own, whole in zip(check.bounds, check.global_bounds, strict=True))
    assert max(check.bounds) < 0.5 * min(check.global_bounds)


@pytest.mark.parametrize(
    ("weight", "bias", "begins"),
    [
        (
            [[30, -20], [25, 10]],
            (40, 55),
            "1 of 1 samples examined have a certified equilibrium, which is unique: ||a - a*||",
        ),
        ([[127, 0], [0, 127]], (0, 0), "the one sample examined does not have a certified equilibrium; one pass around the loop"),
    ],
)
def test_the_sentence_says_how_many_samples_and_how_sure(weight, bias, begins):
    chip = loop_network(weight, bias=bias)
    comparator = Comparator(chip)
    comparator.add(simulate(chip, ZERO), ZERO)
    check = comparator.verdict().check("certificate")
    assert check.summary.startswith(begins)
    assert check.summary.endswith("(E18)")
    assert check.mark == "info"
    assert 0 < check.numbers["failure_probability"] <= 1e-9


def test_a_network_beyond_its_gains_is_certified_sample_by_sample():
    """[[0, 1.2], [0, 0]] has gains of 1.2, but no loop: the equilibrium is alone within a radius that is stated."""
    chip = loop_network([[0, 120], [0, 0]], bias=(-20, 55))
    comparator = Comparator(chip)
    comparator.add(simulate(chip, ZERO), ZERO)
    numbers = comparator.verdict().check("certificate").numbers
    assert (numbers["certified"], numbers["global_distance_bound"]) == (1, None)
    assert numbers["distance_bound"] < 0.1
    assert numbers["unique_radius"] > 0


def test_what_was_found_can_be_handed_over():
    chip = loop_network([[0, 120], [0, 0]], bias=(-20, 55))
    one, other = Comparator(chip), Comparator(chip)
    one.add(simulate(chip, ZERO), ZERO)
    before = one.verdict().check("certificate").numbers
    other.take_in(one.hand_over())
    assert other.verdict().check("certificate").numbers == before


def test_a_network_that_takes_too_long_to_certify_is_certified_only_on_request(monkeypatch):
    chip = dense_network(1, size=5, inputs=7)
    values = np.full((2, 7), 9, np.uint8)
    monkeypatch.setattr(sampling, "CERTIFICATE_WORK", 1.0)
    monkeypatch.setattr(sampling, "FIRST_WORK", 1.0)
    assert certified_samples(chip, 30).first == 0
    assert list(sampling.Sampling(0, 3, 5).rows(0, 10)) == [3, 6, 9]
    for asked, samples in ((None, 0), (2, 1)):
        comparator = Comparator(chip, equilibrium_samples=asked)
        comparator.add(simulate(chip, values), values)
        check = comparator.verdict().check("certificate")
        assert check.numbers.get("samples", 0) == samples
        assert ("takes too long to certify; fsnn-compare --equilibria 1 does it" in check.summary) == (samples == 0)


def test_large_networks_have_fewer_samples_examined_but_at_least_one():
    assert certified_samples(dense_network(1, size=5, inputs=7), 30).first == CERTIFIED_SAMPLES
    assert certified_samples(dense_network(1, size=500, inputs=1), 30).first == 5  # 5e8 / (400 x 2.5e5)
    assert certified_samples(dense_network(1, size=3000, inputs=1), 30).first == 1
