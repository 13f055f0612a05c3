"""A certificate per sample: its bounds hold against dense linear algebra, and each of its conditions is needed (E18)."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.ir.network import ChipNetwork, DenseSynapse, Input, Layer, Readout
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.bounds.local_certificate import LocalCertifier
from fsnn_lava.verify.equilibrium import solve_equilibria
from tests.helpers.exact_equilibrium import exact_equilibrium
from tests.helpers.naive_simulator import simulate
from tests.helpers.strategies import random_network, random_values
from tests.verify.test_comparator import loop_network

ZERO = np.zeros((1, 1), np.uint8)


def chain(weights, biases, feedback):
    """A chain of layers with these dense weights between them, thresholds of 100, and the feedback from the last to the first."""
    layers = tuple(
        Layer(name=f"l{i + 1}", shape=(len(bias),), threshold=np.array(100), bias=np.array(bias), scale=np.array(0.01))
        for i, bias in enumerate(biases)
    )
    forward = [DenseSynapse(source=f"l{i + 1}", target=f"l{i + 2}", weight=np.array(w)) for i, w in enumerate(weights)]
    entry = DenseSynapse(source="input", target="l1", weight=np.ones((len(biases[0]), 1), int), exponent=-6)
    back = DenseSynapse(source=layers[-1].name, target="l1", weight=np.array(feedback))
    readout = Readout(weight=np.ones((2, len(biases[-1])), int), bias=np.zeros(2, int), scale=np.array(1.0), decay=0)
    return ChipNetwork(input=Input(kind="pixels", shape=(1,)), layers=layers, synapses=(entry, *forward, back), readout=readout, steps=50)


def certify(chip, centre, *, rates=None, passes=None, **options):
    rate_map = RateMap(chip)
    certifier, drive = LocalCertifier(rate_map, passes=passes), rate_map.drive(ZERO)
    return certifier.certify(centre, centre if rates is None else rates, drive, samples=np.arange(len(centre[0])), **options)


def test_on_random_networks_no_bound_is_below_the_exact_distance():
    """Feedback between any layers, dense and convolutional: a* by dense linear algebra, from the run's rates and from the solved ones."""
    judged = beyond_gains = 0
    for seed in range(60):
        rng = np.random.default_rng([19, seed])
        chip = random_network(rng)
        if not chip.feedback:
            continue
        rate_map, values = RateMap(chip), random_values(rng, chip, 1)
        certifier, drive, rates = LocalCertifier(rate_map), rate_map.drive(values), simulate(chip, values).rates
        point = solve_equilibria(rate_map, drive, rates)
        exact = exact_equilibrium(rate_map, point.rates, drive) if point.converged[0] else None
        for centre in (rates, point.rates):
            found = certifier.certify(centre, rates, drive, samples=np.array([seed]))
            apart = np.inf if exact is None else np.linalg.norm(certifier.loop.join(centre)[0] - _sources(certifier, exact))
            if not found.certified[0] or apart > found.unique_radius[0]:
                continue
            judged += 1
            beyond_gains += not Certificate(rate_map).certified
            assert apart <= found.radius[0]
            for position, part in enumerate(_layers(chip, exact)):
                assert np.linalg.norm(rates[position].reshape(-1) - part) <= found.distance[position, 0]
    assert judged >= 40
    assert beyond_gains >= 5


def _layers(chip, flat):
    return np.split(flat, np.cumsum([layer.size for layer in chip.layers])[:-1])


def _sources(certifier, flat):
    parts = _layers(certifier.loop.chip, flat)
    return np.concatenate([parts[k] for k in certifier.loop.sources])


def test_a_loop_whose_norms_multiply_to_more_than_one_is_certified_by_its_composition():
    """F2 F1 = [1 -1][1; 1] = 0, though ||F2|| ||F1|| = 2 and the feedback is 0.9: nothing comes around while both between are active."""
    chip = chain([[[100], [100]], [[90, -90]]], [[50], [-20, -20], [40]], [[90]])
    rate_map = RateMap(chip)
    assert not Certificate(rate_map).certified
    point = rate_map.solve_drive(rate_map.drive(ZERO))
    found = certify(chip, point.rates)
    assert found.certified[0]
    assert found.norm[0] < 1e-6
    assert 0 < found.unique_radius[0] < np.inf


@pytest.mark.parametrize(("off", "certified"), [(-0.0049, True), (-0.0051, False)])
def test_an_undecided_neuron_counts_although_the_composed_norm_is_zero(off, certified):
    """At rest l1 is 0.5, l2 (0.01, 0.05), l3 0.4, and 1.25 - 1.25 = 0 comes around. With l3 off by d, l2 begins at 0.01 + d, and the radius
    is |d|: from d = -0.005 on, its first neuron may fall silent within it, and then the loop has norm 1.25."""
    chip = chain([[[100], [100]], [[125, -125]]], [[10], [-49, -45], [45]], [[100]])
    centre = (np.array([[0.5]]), np.array([[0.01, 0.05]]), np.array([[0.4 + off]]))
    found = certify(chip, centre)
    assert found.norm[0] < 1e-6
    assert found.certified[0] == certified
    if certified:
        assert found.radius[0] == pytest.approx(-off)


def test_a_norm_above_one_with_a_smaller_spectral_radius_needs_a_power():
    """[[0, 1.2], [0, 0]] has norm 1.2 and square 0."""
    chip = loop_network([[0, 120], [0, 0]], bias=(-20, 55))
    rate_map = RateMap(chip)
    point = rate_map.solve_drive(rate_map.drive(ZERO))
    assert ((point.rates[0] > 0) & (point.rates[0] < 1)).all()
    assert not certify(chip, point.rates, powers=(1,)).certified[0]
    found = certify(chip, point.rates)
    assert (found.power[0], found.certified[0]) == (2, True)
    assert found.norm[0] == pytest.approx(1.2, rel=0.05)


def test_a_network_with_two_equilibria_is_never_certified_across_both():
    """Two neurons that inhibit each other by 1.2: one of them fires. Around each equilibrium there is a ball without the other."""
    chip = loop_network([[0, -120], [-120, 0]], bias=(60, 60))
    first, second = np.array([[0.6, 0.0]]), np.array([[0.0, 0.6]])
    found = certify(chip, (first,))
    assert found.certified[0]
    assert found.unique_radius[0] < np.linalg.norm(first - second)


def test_the_distance_includes_the_way_from_the_rates_to_the_centre():
    chip = loop_network([[30, -20], [25, 10]])
    rate_map = RateMap(chip)
    point = rate_map.solve_drive(rate_map.drive(ZERO))
    rates = (point.rates[0] + np.array([[0.03, -0.04]]),)
    found = certify(chip, point.rates, rates=rates)
    assert found.distance[0, 0] == pytest.approx(0.05, abs=1e-7)
