"""What a backend recorded of a run with delta encoding must be possible and consistent, in every sample and layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.residual_curve import ResidualCurve
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.check import Check
from fsnn_lava.verify.comparator import Comparator
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_delta import as_delta, simulate_delta

OFFSET = 1001  # beyond the samples that the emulator runs again


def run_of() -> tuple[ChipNetwork, np.ndarray, Result]:
    chip = replace(as_delta(conv_network(3)), steps=4)
    values = np.random.default_rng(5).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    return chip, values, replace(simulate_delta(chip, values), backend="emu")


def verdict_of(chip: ChipNetwork, result: Result, values: np.ndarray) -> tuple[Check, list[str]]:
    """The record check, and the names of all that failed."""
    comparator = Comparator(chip, equilibrium_samples=0)
    comparator.add(result, values, offset=OFFSET)
    verdict = comparator.verdict()
    return verdict.check("record"), [check.name for check in verdict.failed]


def changed(arrays, layer, place, by):
    """The tuple of arrays with one entry changed."""
    found = [array.copy() for array in arrays]
    found[layer][place] += by
    return tuple(found)


@pytest.mark.parametrize("spikes", [True, False])
def test_a_correct_record_passes(spikes):
    chip, values, result = run_of()
    result = ResidualCurve(chip).added(result, values, keep_spikes=spikes)
    record, failed = verdict_of(chip, result, values)
    assert failed == [] and record.numbers["samples"] == 3
    assert any(part.any() for part in result.late)  # messages are in flight, which operations do not count


def test_a_clip_that_was_flagged_but_not_counted_does_not_excuse_a_wrong_sum():
    chip, values, result = run_of()
    place = (1, 0, 2, 3)
    bent = replace(result, potentials=changed(result.potentials, 1, place, 999), clipped=changed(result.clipped, 1, place, 2))
    record, _ = verdict_of(chip, bent, values)
    assert (record.passed, record.offenders[0]["layer"]) == (False, "l2")
    assert "number of clips does not match" in record.offenders[0]["what"]


@pytest.mark.parametrize("spikes", [True, False])
@pytest.mark.parametrize("share", [0.5, 2.0])
def test_operations_that_the_messages_cannot_cause_are_found(share, spikes):
    chip, values, result = run_of()
    bent = replace(result, operations=(result.operations * share).astype(np.int64), spikes=result.spikes if spikes else None)
    record, failed = verdict_of(chip, bent, values)
    assert failed == ["record"] and record.numbers["wrong"] == 3
    assert "operations does not match the messages" in record.offenders[0]["what"]


def test_with_recorded_changes_operations_are_known_exactly():
    chip, values, result = run_of()
    assert verdict_of(chip, replace(result, operations=result.operations + 1), values)[1] == ["record"]


def test_messages_in_other_steps_than_the_changes_are_found():
    chip, values, result = run_of()
    assert result.messages is not None
    record, failed = verdict_of(chip, replace(result, messages=np.roll(result.messages, 1, axis=1)), values)
    assert failed == ["record"] and "not those of the recorded changes" in record.offenders[0]["what"]


def test_changes_in_flight_are_the_last_of_the_train():
    chip, values, result = run_of()
    bent = replace(result, late=changed(result.late, 0, (1, 0, 2, 3), 1))
    assert "are not those in flight" in verdict_of(chip, bent, values)[0].offenders[0]["what"]


def test_a_residual_that_does_not_match_the_rates_is_found():
    chip, values, result = run_of()
    result = ResidualCurve(chip).added(result, values, keep_spikes=False)
    assert result.residual is not None
    for wrong in (1.001 * result.residual, np.full_like(result.residual, np.nan)):
        record, failed = verdict_of(chip, replace(result, residual=wrong), values)
        assert failed == ["record"] and "residual after the last step" in record.offenders[0]["what"]


def test_a_sum_of_more_than_24_bits_needs_a_clip():
    chip, values, result = run_of()
    bent = replace(result, potentials=changed(result.potentials, 1, (1, 0, 2, 3), 2**24))
    assert "exceeds 8388607, but no clip was recorded" in verdict_of(chip, bent, values)[0].offenders[0]["what"]
    bent = replace(result, readout=result.readout + 2**24)
    assert "readout exceeds 8388607, but no clip was recorded" in verdict_of(chip, bent, values)[0].offenders[0]["what"]


def run_with_two_changes() -> tuple[ChipNetwork, np.ndarray, Result, tuple[int, int, int, int]]:
    """A run in which a neuron sends two changes that both arrive: its sample, its number and both steps."""
    chip = replace(as_delta(dense_network(3, size=12)), steps=12)
    values = np.random.default_rng(5).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    result = replace(simulate_delta(chip, values), backend="emu")
    on_time = result.spikes[0][:, :-1]
    sample, neuron = (int(i) for i in np.argwhere(np.count_nonzero(on_time, axis=1) >= 2)[0])
    first, second = (int(step) for step in np.flatnonzero(on_time[sample, :, neuron])[:2])
    return chip, values, result, (sample, neuron, first, second)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (lambda chip: chip.delta.dead_bands[0] - 1, "a change is smaller than the dead band"),
        (lambda chip: chip.delta.ceiling + 1, "a rate that was sent is not between 0 and 256"),
    ],
)
def test_changes_that_a_neuron_cannot_send_are_found_even_if_they_add_up_to_its_rate(new, sentence):
    chip, values, result, (sample, neuron, first, second) = run_with_two_changes()
    by = new(chip) - int(result.spikes[0][sample, first, neuron])
    moved = changed(changed(result.spikes, 0, (sample, first, neuron), by), 0, (sample, second, neuron), -by)
    record, failed = verdict_of(chip, replace(result, spikes=moved), values)
    assert failed == ["record"] and record.offenders[0]["neuron"] == [neuron]
    assert sentence in [offender["what"] for offender in record.offenders]


@pytest.mark.parametrize("by", [-1000, 1000])
def test_a_step_with_an_impossible_number_of_messages_is_found(by):
    chip, values, result = run_of()
    messages = result.messages.copy()
    messages[1, :2] += [by, -by]
    record, failed = verdict_of(chip, replace(result, messages=messages, spikes=None), values)
    assert failed == ["record"] and "a step has fewer than 0 or more than 192 messages" in record.offenders[0]["what"]


@pytest.mark.parametrize("period", [-1, 4])
def test_a_limit_cycle_is_shorter_than_the_run(period):
    chip, values, result = run_of()
    record, failed = verdict_of(chip, replace(result, cycles=np.array([0, period, 3], np.int32)), values)
    assert failed == ["record"] and record.offenders[0]["sample"] == OFFSET + 1 and record.numbers["wrong"] == 1
