"""The comparator on correct runs: no false alarm, bounds that hold, certificates, intervals, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork, DenseSynapse, Input, Layer, Readout
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify import batch
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.residual_bound import residual_bound
from fsnn_lava.verify.comparator import Comparator, compare
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.wilson_interval import wilson_interval
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_simulator import simulate
from tests.helpers.strategies import random_network, random_values

NAMES = ("float", "shift", "contraction", "certificate", "residual", "record", "charge", "spikes", "settled", "accuracy")


def loop_network(
    weight: list[list[int]], *, threshold: int = 100, bias: tuple[int, ...] = (40, 55), steps: int = 50, **layer: Any
) -> ChipNetwork:
    """Two neurons that feed each other; a dense input of nothing."""
    return ChipNetwork(
        input=Input(kind="pixels", shape=(1,)),
        layers=(Layer(name="l1", shape=(2,), threshold=np.array(threshold), bias=np.array(bias), scale=np.array(0.01), **layer),),
        synapses=(
            DenseSynapse(source="input", target="l1", weight=np.array([[1], [-1]]), exponent=-6),
            DenseSynapse(source="l1", target="l1", weight=np.array(weight)),
        ),
        readout=Readout(weight=np.array([[1, 2], [3, -1]]), bias=np.array([0, 1]), scale=np.array(1.0), decay=layer.get("decay", 0)),
        steps=steps,
    )


@pytest.mark.parametrize("part", range(4))
def test_random_correct_runs_raise_no_alarm(part):
    """Every feature of the network, 200 runs. If charge was clipped, or there is no equilibrium, the alarm is justified."""
    for seed in range(50 * part, 50 * (part + 1)):
        rng = np.random.default_rng([7, seed])
        chip = random_network(rng, layers=int(rng.integers(1, 4)), wild=seed % 5 == 0)
        values = random_values(rng, chip, 2)
        result = simulate(chip, values)
        comparator = Comparator(chip, equilibrium_samples=int(seed % 4 == 0))
        comparator.add(result, values)
        verdict = comparator.verdict()
        allowed = {"contraction"} if verdict.check("contraction").numbers["unsolved"] else set()
        if verdict.check("charge").numbers["harmful_clips"]:
            allowed.add("charge")
        assert {check.name for check in verdict.failed} <= allowed, f"seed {seed}: {verdict.to_text()}"
        assert verdict.check("charge").numbers["violated"] == 0


def test_charge_is_exact_for_integrate_and_fire():
    chip = conv_network(2)
    values = np.random.default_rng(0).integers(0, 256, (4, *chip.input.shape), dtype=np.uint8)
    charge = compare(simulate(chip, values), chip, values).check("charge")
    assert charge.numbers["interval"] == 0
    assert charge.numbers["neurons"] == 4 * (sum(layer.size for layer in chip.layers) + chip.readout.classes)


@pytest.mark.parametrize("decay", [0, 205])
def test_the_residual_bound_is_met_with_equality_for_integrate_and_fire(decay):
    """E11 is an identity for IF; for a leak, truncation leaves (1 - 2**-12)(A - lambda**(T - 1)) of slack on both sides."""
    chip = conv_network(2, decay=decay)
    values = np.random.default_rng(0).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    result = simulate(chip, values)
    batch = Batch(chip=chip, result=result, values=values, labels=None, offset=0)
    rate_map = RateMap(chip)
    mapped = rate_map.apply(result.rates, rate_map.drive(values))
    for index, layer in enumerate(chip.layers):
        residual, bound = np.abs(mapped[index] - result.rates[index]), residual_bound(batch, layer)
        assert (residual <= bound).all()
        total = chip.weight_sum(chip.steps)
        slack = 2 * (total - chip.leak ** (chip.steps - 1)) / (64 * layer.per_neuron(layer.threshold) * total) if decay else 0.0
        assert (bound - residual <= slack + 1e-9).all()


def test_the_residual_falls_as_one_over_the_steps():
    chip = loop_network([[30, -20], [25, 10]])
    worst = []
    for steps in (50, 500):
        result = simulate(chip, np.zeros((1, 1), np.uint8), steps=steps)
        worst.append(compare(result, chip, np.zeros((1, 1), np.uint8)).check("residual").numbers["residual_max"])
    assert worst[1] <= 2.0 / 500  # (u < theta, and at most one late spike of weight < theta) / (theta T)
    assert worst[1] < worst[0] <= 2.0 / 50


def test_a_strong_but_nilpotent_loop_is_only_local():
    """||W|| = 1.2 > 1, but W**2 = 0: the radius of the derivative is 0 wherever both neurons are active."""
    chip = loop_network([[0, 120], [0, 0]], bias=(-20, 55))
    check = compare(simulate(chip, np.zeros((1, 1), np.uint8)), chip, np.zeros((1, 1), np.uint8)).check("contraction")
    assert check.numbers["state"] == "local"
    assert check.numbers["local_radius"] == pytest.approx(0.0, abs=1e-30)
    assert check.passed


def test_an_unstable_equilibrium_is_none_and_fails_only_if_a_threshold_demands_more():
    """W = 1.5 on itself with bias -20 of 100: a = 0.4 solves a = 1.5 a - 0.2, and repels; 0 and 1 attract."""
    chip = loop_network([[150 - 23, 0], [0, 127]], threshold=80, bias=(-19, 55))
    zero = np.zeros((1, 1), np.uint8)
    result = simulate(chip, zero)
    assert compare(result, chip, zero).check("contraction").passed
    strict = compare(result, chip, zero, thresholds=Thresholds(contraction="certified"))
    assert not strict.passed
    assert [check.name for check in strict.failed] == ["contraction"]


def test_the_equilibrium_is_solved_to_a_billionth_and_the_distance_is_within_its_bound():
    chip = loop_network([[30, -20], [25, 10]])
    zero = np.zeros((1, 1), np.uint8)
    verdict = compare(simulate(chip, zero), chip, zero)
    exact = np.linalg.solve(100 * np.eye(2) - np.array([[30, -20], [25, 10]]), [40.0, 55.0])
    rates = simulate(chip, zero).rates[0][0]
    numbers = verdict.check("residual").numbers
    assert numbers["layers"][0]["distance_max"] == pytest.approx(np.abs(rates - exact).max(), abs=1e-8)
    assert 0 < numbers["distance_share_of_bound"] <= 1
    assert verdict.check("contraction").numbers["solver_residual"] <= 1e-9


def test_the_distances_of_a_chain_without_feedback_are_within_their_bounds():
    """(1 - M)**-1 of a strictly triangular M: rounding must not make an entry that is 0 negative."""
    rng = np.random.default_rng([0, 197])
    chip = random_network(rng)
    values = random_values(rng, chip, 2)
    assert len(chip.layers) == 4
    assert not chip.feedback
    verdict = compare(simulate(chip, values), chip, values)
    assert verdict.check("contraction").numbers["spectral_radius"] == 0
    assert verdict.check("residual").passed, verdict.to_text()


def test_a_hard_reset_network_passes_without_a_bound():
    chip = dense_network(3, size=6, reset="zero", strict=True)
    values = np.random.default_rng(0).integers(0, 256, (3, 7), dtype=np.uint8)
    verdict = compare(simulate(chip, values), chip, values)
    assert verdict.passed, verdict.to_text()
    assert "no bound" in verdict.check("residual").summary
    assert "more charge than arrived" in verdict.check("charge").summary


def test_a_user_can_tighten_every_threshold():
    chip = dense_network(3, size=6)
    values = np.random.default_rng(0).integers(0, 256, (3, 7), dtype=np.uint8)
    result, labels = simulate(chip, values), np.zeros(3, np.int64)
    assert compare(result, chip, values, labels=labels).passed
    for name, thresholds in {
        "residual": Thresholds(residual_max=1e-6),
        "accuracy": Thresholds(accuracy_min=1.0),
    }.items():
        wrong = (result.predictions + 1) % 3
        failed = compare(result, chip, values, labels=wrong, thresholds=thresholds).failed
        assert [check.name for check in failed] == [name]
    assert not compare(result, chip, values, thresholds=Thresholds(distance_max=0.0)).check("residual").ok
    assert "no labels" in compare(result, chip, values, thresholds=Thresholds(accuracy_min=0.5)).check("accuracy").summary
    assert "no model" in compare(result, chip, values, thresholds=Thresholds(agreement_min=0.5)).check("accuracy").summary


def _close(one: Any, other: Any) -> bool:
    number = isinstance(other, (float, np.ndarray))
    return bool(np.allclose(one, other, rtol=0, atol=1e-8)) if number else bool(one == other)


def test_batches_add_up_to_the_whole():
    chip = conv_network(5, decay=205)
    values = np.random.default_rng(1).integers(0, 256, (7, *chip.input.shape), dtype=np.uint8)
    labels = np.arange(7) % 5
    result = simulate(chip, values)
    whole = compare(result, chip, values, labels=labels)
    comparator = Comparator(chip)
    for rows in (slice(0, 3), slice(3, 4), slice(4, 7)):
        comparator.add(result.part(rows), values[rows], labels[rows])
    parts = comparator.verdict()
    assert whole.passed == parts.passed
    assert whole.about == parts.about
    for a, b in zip(whole.checks, parts.checks, strict=True):
        if a.name in ("contraction", "certificate", "settled"):  # a* is solved to 1e-9: float32 sums differ with the size of a batch
            assert all(_close(b.numbers[name], value) for name, value in a.numbers.items()), a.name
        elif a.name != "residual":  # sums in another order
            assert json.dumps(a.numbers, default=str) == json.dumps(b.numbers, default=str), a.name
    assert parts.check("accuracy").numbers["samples"] == 7


def test_the_verdict_is_one_screen_and_plain_json():
    chip = conv_network(5)
    values = np.random.default_rng(1).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    verdict = compare(simulate(chip, values), chip, values, labels=np.array([0, 1, -1]))
    text = verdict.to_text()
    assert text.startswith("PASS")
    answers, *reasons = text.splitlines()
    assert len(reasons) <= 23
    assert len(answers) <= 180  # all three answers are on the first line
    assert max(map(len, reasons)) <= 120
    again = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert again["passed"] is True
    assert "series" not in again["checks"][0]
    plotted = json.loads(json.dumps(verdict.to_dict(series=True), allow_nan=False))["checks"]
    assert len(next(check for check in plotted if check["name"] == "residual")["series"]["residual_per_sample"]) == 3
    assert {check["name"] for check in again["checks"]} == set(NAMES)
    assert verdict.check("accuracy").numbers["accuracy_interval"] == wilson_interval(
        int(round(verdict.check("accuracy").numbers["accuracy"] * 2)), 2
    )


def test_a_result_that_does_not_belong_to_the_network_or_the_values_is_refused():
    chip, other = dense_network(3), dense_network(4)
    values = np.random.default_rng(0).integers(0, 256, (3, 7), dtype=np.uint8)
    result = simulate(chip, values)
    with pytest.raises(BadArgument, match="not to this one"):
        compare(result, other, values)
    with pytest.raises(BadArgument, match="3 samples, but values has 2"):
        compare(result, chip, values[:2])
    with pytest.raises(BadArgument, match="values must have shape"):
        compare(result, chip, values[:, :5])
    with pytest.raises(BadArgument, match=r"labels must be class numbers \(integers\), got <U3"):
        compare(result, chip, values, labels=["cat", "dog", "cat"])  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="labels must be one per sample"):
        compare(result, chip, values, labels=np.zeros((3, 1), np.int64))
    with pytest.raises(BadArgument, match="no sample"):
        Comparator(chip).verdict()
    comparator = Comparator(chip)
    comparator.add(result, values)
    with pytest.raises(BadArgument, match="share backend and steps"):
        comparator.add(replace(result, backend="sim"), values)


def test_compare_works_before_and_after_its_package_is_imported():
    chip = dense_network(3)
    values = np.random.default_rng(0).integers(0, 256, (2, 7), dtype=np.uint8)
    result = simulate(chip, values)
    for _ in range(2):
        assert fl.compare(result, chip, values).passed


def test_a_fault_in_the_sums_of_the_charge_check_is_noticed(monkeypatch):
    """f(a) follows from these sums; a second computation without them disagrees."""
    chip = dense_network(3)
    values = np.random.default_rng(0).integers(0, 256, (2, 7), dtype=np.uint8)
    result = simulate(chip, values)
    right = batch.synaptic_sum
    monkeypatch.setattr(batch, "synaptic_sum", lambda synapse, messages: right(synapse, messages) + 64)
    check = compare(result, chip, values).check("residual")
    assert not check.passed
    assert check.numbers["mapped_differently"] > 0 and check.numbers["mapped_again"] == 2
    assert "f(a) is not the same when it is computed without the sums of the charge check" in check.summary
