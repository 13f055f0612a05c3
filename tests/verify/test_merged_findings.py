"""What comparators of parts of a run hand over adds up to what one comparator finds; damaged records are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.errors import BadFile
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.merged_findings import by_place
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.verdict import Verdict
from tests.helpers.chip_networks import conv_network
from tests.helpers.naive_simulator import simulate
from tests.verify.test_float_network import model, pixels

SPANS = (slice(0, 3), slice(3, 4), slice(4, 9), slice(9, 11))


def run_of(chip: Any, samples: int = 11) -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 256, (samples, *chip.input.shape), dtype=np.uint8)
    labels = rng.integers(-1, chip.readout.classes, samples)
    return simulate(chip, values), values, labels


def in_one(comparator: Comparator, run: tuple[Any, np.ndarray, np.ndarray]) -> Verdict:
    result, values, labels = run
    for rows in SPANS:
        comparator.add(result.part(rows), values[rows], labels[rows])
    return comparator.verdict()


def by_parts(workers: list[Comparator], judge: Comparator, run: tuple[Any, np.ndarray, np.ndarray]) -> Verdict:
    """Every part by another comparator, the last part first; merged from JSON in the order of the samples."""
    result, values, labels = run
    notes = {}
    for number, rows in reversed(list(enumerate(SPANS))):
        worker = workers[number % len(workers)]
        worker.add(result.part(rows), values[rows], labels[rows], offset=rows.start)
        notes[number] = json.dumps(worker.hand_over())
    for number in range(len(SPANS)):
        judge.take_in(json.loads(notes[number]))
    return judge.verdict()


def assert_equal(one: Verdict, other: Verdict) -> None:
    assert one.passed == other.passed
    assert json.dumps(one.to_dict(series=True)) == json.dumps(other.to_dict(series=True))


@pytest.mark.parametrize("decay", [0, 205])
def test_parts_add_up_to_one_verdict(decay: int) -> None:
    chip = conv_network(5, decay=decay)
    run = run_of(chip)
    options: dict[str, Any] = {"equilibrium_samples": 5, "thresholds": Thresholds(residual_max=0.02, distance_max=0.02, accuracy_min=0.5)}
    one = in_one(Comparator(chip, **options), run)
    assert not one.passed
    assert one.check("residual").offenders
    assert one.check("contraction").numbers["solved"] == 5
    assert_equal(one, by_parts([Comparator(chip, **options) for _ in range(2)], Comparator(chip, **options), run))


def test_a_fault_in_one_part_is_found_in_the_whole() -> None:
    chip = conv_network(5)
    result, values, labels = run_of(chip)
    bent = result.potentials[0].copy()
    bent[10].reshape(-1)[7] += 64
    run = (replace(result, potentials=(bent, *result.potentials[1:]), backend="sim"), values, labels)
    one = in_one(Comparator(chip), run)
    assert [offender["sample"] for offender in one.check("charge").offenders] == [10]
    assert "first in sample 10" in one.check("spikes").summary
    assert_equal(one, by_parts([Comparator(chip)], Comparator(chip), run))


def test_parts_of_a_run_with_its_model_add_up() -> None:
    net = model("conv")
    chip = fl.quantise(net, calibration=pixels(net))
    run = run_of(chip)
    options: dict[str, Any] = {"model": net, "equilibrium_samples": 6, "thresholds": Thresholds(shift_max=0.0)}
    one = in_one(Comparator(chip, **options), run)
    assert one.check("shift").offenders
    assert one.check("float").numbers["samples"] == 6
    assert_equal(one, by_parts([Comparator(chip, **options)], Comparator(chip, **options), run))


def test_a_comparator_is_empty_after_it_handed_over() -> None:
    chip = conv_network(5)
    run = run_of(chip)
    comparator = Comparator(chip)
    in_one(comparator, run)
    comparator.hand_over()
    assert_equal(in_one(comparator, run), in_one(Comparator(chip), run))


def damaged(found: dict[str, Any], *path: str, value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(found))
    place = copy
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("samples",), None),
        (("about",), []),
        (("about", "seconds"), "long"),
        (("about", "backend"), 3),
        (("checks",), {}),
        (("checks", "charge"), {"neurons": 1}),
        (("checks", "charge", "neurons"), 1.5),
        (("checks", "charge", "worst"), "much"),
        (("checks", "charge", "offenders"), [{"what": "x", "sample": 0}]),
        (("checks", "charge", "violated"), 1),
        (("checks", "spikes", "different"), 1),
        (("checks", "residual", "residual_max"), [0.0]),
        (("checks", "residual", "per_sample"), ["x"]),
        (("checks", "residual", "offenders"), [{"sample": 0}]),
        (("checks", "accuracy", "spiked"), ["####"]),
        (("checks", "accuracy", "confusion"), [[0.5]]),
    ],
)
def test_a_damaged_record_is_refused(path: tuple[str, ...], value: Any) -> None:
    chip = conv_network(5)
    comparator = Comparator(chip)
    in_one(comparator, run_of(chip))
    found = comparator.hand_over()
    Comparator(chip).take_in(found)
    with pytest.raises(BadFile, match="record of a comparison is damaged"):
        Comparator(chip).take_in(damaged(found, *path, value=value))


def test_bits_that_are_not_base64_are_refused() -> None:
    """Without the invalid character, the number of bits would be right."""
    chip = conv_network(5)
    comparator = Comparator(chip)
    in_one(comparator, run_of(chip))
    found = comparator.hand_over()
    spiked = found["checks"]["accuracy"]["spiked"]
    with pytest.raises(BadFile, match="record of a comparison is damaged"):
        Comparator(chip).take_in(damaged(found, "checks", "accuracy", "spiked", value=[f"#{text}" for text in spiked]))


def test_samples_come_before_layers():
    places = [(1, 0), (0, 1), (0, 0)]
    offenders = [{"sample": sample, "position": position} for sample, position in places]
    assert [by_place(one) for one in sorted(offenders, key=by_place)] == sorted(places)
