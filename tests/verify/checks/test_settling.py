"""The settling of a run, worked out by hand: which neurons count, which are beyond the limit, the slope, and the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.verify.checks.settling import SettlingCheck
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.thresholds import Thresholds
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_simulator import simulate
from tests.verify.bounds.test_arrived_charge import run_batch
from tests.verify.test_comparator import loop_network

ZERO = np.zeros((1, 1), np.uint8)


def check_of(chip, **thresholds):
    return SettlingCheck(chip, Emulator(chip), Thresholds(**thresholds))


def test_neurons_that_neither_fire_nor_should_do_not_count():
    """One layer of five neurons, twenty steps: residuals of 3, 1/2 and 0 spikes, and two neurons at rest."""
    chip = dense_network(1)
    batch = run_batch(chip, 1)
    rates = np.array([[0.5, 0.0, 0.25, 0.0, 0.0]])
    mapped = np.array([[0.35, 0.025, 0.25, 0.0, 0.0]])
    batch = replace(batch, result=replace(batch.result, counts=((rates * 20).astype(np.int32),), traces=(rates * 20,)))
    check = check_of(chip)
    check.add(batch, (mapped,))
    found = check.settled(distance=None, without=0)
    assert (check.active, check.beyond) == (3, 1)
    assert found.beyond == pytest.approx(1 / 3)
    assert found.residual == pytest.approx(3 / 20)
    assert found.typical == pytest.approx(np.sqrt((3**2 + 0.5**2) / 3) / 20)
    assert (found.resolution, found.level, found.answer, found.steps) == (1 / 20, 1 / 20, "no", 60)


@pytest.mark.parametrize(("level", "answer"), [(0.15, "yes"), (0.1, "no")])
def test_the_users_level_replaces_what_the_run_can_resolve(level, answer):
    """Residuals of 3/20 and of 1/40 in the only sample."""
    chip = dense_network(1)
    batch = run_batch(chip, 1)
    rates, mapped = np.array([[0.5, 0.0, 0.25, 0.0, 0.0]]), np.array([[0.35, 0.025, 0.25, 0.0, 0.0]])
    batch = replace(batch, result=replace(batch.result, counts=((rates * 20).astype(np.int32),), traces=(rates * 20,)))
    check = check_of(chip, residual_max=level)
    check.add(batch, (mapped,))
    assert check.settled(distance=None, without=0).answer == answer


def test_spikes_under_way_and_the_phases_of_its_sources_explain_a_residual_but_do_not_settle_it():
    """In spikes of 20 steps they explain 1 + sqrt(2 ln 10**6) |w|/theta, plus |W late|/theta; a residual a little above is unexplained."""
    chip = loop_network([[30, 40], [0, 0]], steps=20)
    batch = run_batch(chip, 1)
    batch = replace(batch, result=replace(batch.result, late=(np.array([[1, 1]], np.int32),)))
    levels = [(1 + np.sqrt(2 * np.log(1e6)) * 0.5 + 0.7) / 20, 1 / 20]
    for factor, beyond, unexplained in ((0.999, 1, 0), (1.001, 2, 2)):
        check = check_of(chip)
        check.add(batch, (batch.rates[0] + factor * np.array([levels]),))
        found = check.settled(distance=None, without=0)
        assert (check.beyond, check.unexplained, found.answer) == (beyond, unexplained, "no")
        assert found.unexplained == unexplained / 2


def test_the_answer_counts_samples_not_neurons():
    """One rate of one of three samples is far off."""
    chip = dense_network(1)
    check, batch = check_of(chip), run_batch(chip, 3)
    moved = batch.rates[0].copy()
    moved[1, 2] += 1.0
    check.add(batch, (moved,))
    found = check.settled(distance=None, without=0)
    assert (found.answer, found.samples_settled) == ("partly", pytest.approx(2 / 3))


def test_the_slope_of_integrate_and_fire_is_that_of_one_over_the_steps():
    """Each residual is (potential and late charge)/(theta T) (E11): over a factor of four in T, that part does not grow fourfold."""
    chip = loop_network([[30, -20], [25, 10]], steps=2000)
    settled = compare(simulate(chip, ZERO), chip, ZERO).settled
    assert settled.expected_slope == pytest.approx(-1.0)
    assert settled.slope is not None and -2.0 < settled.slope < -0.3
    assert settled.resolution == 1 / 2000
    assert settled.floor == 0.0


def test_a_leak_has_a_floor_and_a_smaller_slope():
    chip = conv_network(2, decay=1024)  # lambda = 3/4: A tends to 4
    values = np.random.default_rng(0).integers(0, 256, (2, *chip.input.shape), dtype=np.uint8)
    settled = compare(simulate(chip, values), chip, values).settled
    assert settled.resolution == pytest.approx(1 / chip.weight_sum(16))
    assert settled.resolution > 0.25
    assert settled.floor == pytest.approx(settled.residual * chip.weight_sum(16) / 4)
    assert settled.expected_slope is not None and -0.5 < settled.expected_slope < 0.0


def test_with_reset_to_zero_more_steps_do_not_help():
    chip = dense_network(3, size=6, reset="zero")
    values = np.random.default_rng(0).integers(0, 256, (3, 7), dtype=np.uint8)
    settled = compare(simulate(chip, values), chip, values).settled
    assert (settled.floor, settled.expected_slope) == (None, None)
    assert settled.answer == "yes" or settled.steps is None


def test_events_are_cut_where_a_shorter_run_ends():
    chip = dense_network(2, kind="events")
    values = (np.random.default_rng(0).random((3, 20, 7)) < 0.4).astype(np.uint8)
    settled = fl.compare(simulate(chip, values), chip, values).settled
    assert settled.slope is not None


def test_a_sample_without_an_equilibrium_cannot_be_fully_settled():
    chip = dense_network(1)
    check, batch = check_of(chip), run_batch(chip, 1)
    check.add(batch, batch.rates)
    assert check.settled(distance=None, without=0).answer == "yes"
    assert check.settled(distance=None, without=1).answer == "partly"
