"""What a backend recorded must be possible and consistent, beyond what the charge check covers, in every sample and layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.ir.stock_network import executed_network
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.reference_run import run_reference
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_simulator import simulate

SAMPLES = 3


def run_of(decay=0, kind="pixels", conv=True):
    chip = conv_network(3, decay=decay, kind=kind) if conv else dense_network(3, decay=decay, kind=kind)
    rng = np.random.default_rng(5)
    shape = (SAMPLES, chip.steps, *chip.input.shape) if kind == "events" else (SAMPLES, *chip.input.shape)
    values = (rng.random(shape) < 0.5).astype(np.uint8) if kind == "events" else rng.integers(0, 256, shape, dtype=np.uint8)
    return chip, values, simulate(chip, values)


def record_of(chip, result, values, offset=0):
    comparator = Comparator(chip, equilibrium_samples=0)
    comparator.add(result, values, offset=offset)
    return comparator.verdict().check("record")


def changed(arrays, layer, place, by):
    """The tuple of arrays with one entry changed."""
    found = [array.copy() for array in arrays]
    found[layer][place] += by
    return tuple(found)


@pytest.mark.parametrize("decay", [0, 205, 4095])
@pytest.mark.parametrize("kind", ["pixels", "events", "current"])
def test_a_correct_record_is_possible(decay, kind):
    chip, values, result = run_of(decay, kind)
    assert record_of(chip, result, values).passed


@pytest.mark.parametrize("offset", [0, 1000])
@pytest.mark.parametrize("decay", [0, 205])
def test_more_spikes_than_steps_are_impossible_even_if_charge_is_conserved(decay, offset):
    """20 spikes more and 20 thresholds less: charge is conserved. In samples that are not emulated again, no other check notices."""
    chip, values, result = run_of(decay)
    place = (1, 0, 2, 3)
    more = chip.steps + 1 - int(result.counts[1][place])
    theta = 64 * int(np.max(chip.layers[1].threshold))
    bent = replace(
        result,
        counts=changed(result.counts, 1, place, more),
        traces=changed(result.traces, 1, place, more),
        potentials=changed(result.potentials, 1, place, -theta * more),
        spikes=None,
    )
    record = record_of(chip, bent, values, offset)
    assert not record.passed
    first = record.offenders[0]
    assert (first["sample"], first["layer"], first["neuron"]) == (offset + 1, "l2", [0, 2, 3])
    assert f"not between 0 and {chip.steps}" in first["what"]


def test_more_late_spikes_than_spikes_are_impossible():
    chip, values, result = run_of()
    place = tuple(np.argwhere(result.counts[1] == 0)[0])
    bent = replace(result, late=changed(result.late, 0, place, 1), late_traces=changed(result.late_traces, 0, place, 1), spikes=None)
    record = record_of(chip, bent, values)
    assert "more spikes are late" in record.offenders[0]["what"]
    assert record.offenders[0]["layer"] == "l2"


def test_a_trace_above_the_sum_of_its_spikes_is_impossible():
    """With a leak: n spikes weigh at most as much as the last n steps, and at least as much as the first n."""
    chip, values, result = run_of(205)
    place = tuple(np.argwhere(result.counts[0] == 3)[0])
    most = sum(chip.leak**step for step in range(3))
    least = sum(chip.leak ** (chip.steps - 1 - step) for step in range(3))
    for wrong in (most + 1e-9, least - 1e-9):
        bent = replace(result, traces=changed(result.traces, 0, place, wrong - result.traces[0][place]), spikes=None)
        assert "impossible for this number of spikes" in record_of(chip, bent, values).offenders[0]["what"]


def test_without_a_leak_a_trace_is_its_count():
    chip, values, result = run_of()
    bent = replace(result, traces=changed(result.traces, 0, (0, 1, 1, 1), 0.5))
    assert "the trace differs from the count" in record_of(chip, bent, values).offenders[0]["what"]


def test_spike_trains_must_have_the_spikes_that_were_counted():
    chip, values, result = run_of()
    bent = replace(result, spikes=changed(result.spikes, 1, (2, 4, 1, 1, 1), 1))
    said = [offender["what"] for offender in record_of(chip, bent, values).offenders]
    assert any("number of spikes in the train differs" in what for what in said)


@pytest.mark.parametrize(("name", "what"), [("operations", "does not match the spikes"), ("updates", "neuron updates must be")])
@pytest.mark.parametrize("kind", ["pixels", "events", "current"])
def test_totals_follow_from_the_spikes(kind, name, what):
    chip, values, result = run_of(kind=kind)
    wrong = getattr(result, name).copy()
    wrong[2] += 1
    record = record_of(chip, replace(result, **{name: wrong}), values)
    assert (record.offenders[0]["sample"], what in record.offenders[0]["what"]) == (2, True)


def test_clips_must_be_flagged_where_they_are_counted():
    chip, values, result = run_of()
    clips = result.clip_count.copy()
    clips[1, 0] += 1
    record = record_of(chip, replace(result, clip_count=clips), values)
    assert (record.offenders[0]["sample"], record.offenders[0]["layer"]) == (1, "l1")


def test_the_last_residual_is_that_of_the_rates():
    chip, values, _ = run_of()
    result = fl.run(chip, values, residual=True)
    assert record_of(chip, result, values).passed
    assert not record_of(chip, replace(result, residual=result.residual * 0.99), values).passed


def test_every_residual_is_a_finite_length():
    chip, values, _ = run_of()
    result = fl.run(chip, values, residual=True)
    for wrong in (np.nan, np.inf, -1e-9):
        curve = result.residual.copy()
        curve[1, 3] = wrong
        record = record_of(chip, replace(result, residual=curve), values, 1000)
        assert (record.offenders[0]["sample"], record.offenders[0]["what"]) == (1001, "a residual is negative or not finite")


def test_a_spike_that_is_moved_within_its_train_no_longer_has_its_trace():
    """Beyond the samples that are emulated again, nothing else notices."""
    chip, values, result = run_of(205)
    train = result.spikes[0][1].reshape(chip.steps, -1)
    step, flat = next((t, n) for n in range(train.shape[1]) for t in range(chip.steps - 1) if train[t, n] > train[t + 1, n])
    place = np.unravel_index(flat, chip.layers[0].shape)
    signed = tuple(train.astype(np.int8) for train in result.spikes)
    moved = changed(changed(signed, 0, (1, step, *place), -1), 0, (1, step + 1, *place), 1)
    record = record_of(chip, replace(result, spikes=moved), values, 1000)
    assert (record.offenders[0]["neuron"], record.offenders[0]["what"]) == ([*place], "the spike train does not have the recorded trace")


def test_late_traces_are_those_of_the_end_of_the_train():
    chip, values, result = run_of(205)
    place = tuple(np.argwhere(result.late[0] > 0)[0])
    bent = replace(result, late_traces=changed(result.late_traces, 0, place, -1e-9))
    assert "does not end with the late spikes" in record_of(chip, bent, values, 1000).offenders[0]["what"]


def test_a_train_with_a_negative_spike_is_refused():
    chip, values, result = run_of()
    signed = tuple(train.astype(np.int8) for train in result.spikes)
    bent = changed(changed(signed, 0, (1, 2, 0, 0, 0), -1 - signed[0][1, 2, 0, 0, 0]), 0, (1, 3, 0, 0, 0), 1)
    said = [offender["what"] for offender in record_of(chip, replace(result, spikes=bent), values, 1000).offenders]
    assert "a spike train contains values other than 0 and 1" in said


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("decay", [0, 205])
def test_a_last_spike_that_is_added_with_all_that_follows_from_it_is_found(decay, trains):
    """Charge, counts, late spikes, readout and operations are right; but a neuron that fired in its last step does not end below 0."""
    chip, values, result = run_of(decay, conv=False)
    sample, flat = (int(i) for i in np.argwhere((result.late[0] == 0) & (result.counts[0] < chip.steps))[0])
    theta, place = 64 * int(np.max(chip.layers[0].threshold)), (sample, flat)
    readout, operations = result.readout.copy(), result.operations.copy()
    readout[sample] += 64 * chip.readout.weight[:, flat].astype(np.int32)
    operations[sample] += chip.readout.classes
    bent = replace(
        result,
        counts=changed(result.counts, 0, place, 1),
        traces=changed(result.traces, 0, place, 1),
        late=changed(result.late, 0, place, 1),
        late_traces=changed(result.late_traces, 0, place, 1),
        potentials=changed(result.potentials, 0, place, -theta),
        spikes=changed(result.spikes, 0, (sample, chip.steps - 1, flat), 1) if trains else None,
        readout=readout,
        operations=operations,
    )
    comparator = Comparator(chip, equilibrium_samples=0)
    comparator.add(bent, values, offset=1001)
    verdict = comparator.verdict()
    assert [check.name for check in verdict.checks if check.passed is False] == ["record"]
    assert "fired in its last step" in verdict.check("record").offenders[0]["what"]


def test_scales_that_are_not_those_of_the_network_are_found():
    chip, values, result = run_of()
    for name, value in (("readout_scale", -result.readout_scale), ("weight_sum", result.weight_sum + 1), ("readout_scale", np.nan)):
        record = record_of(chip, replace(result, **{name: value}), values, 1000)
        assert f"{name} is " in record.offenders[0]["what"]


def test_clips_that_lavas_neuron_cannot_report_are_not_believed():
    chip = executed_network(dense_network(3, decay=205), "stock")
    values = np.random.default_rng(5).integers(0, 256, (SAMPLES, *chip.input.shape), dtype=np.uint8)
    result = replace(run_reference(chip, values, steps=chip.steps, stock=True), backend="sim", graph="stock")
    flags, clips = changed(result.clipped, 0, (1, 2), 1), result.clip_count.copy()
    clips[1, 0] += 1
    for bent, passed in ((result, True), (replace(result, clipped=flags, clip_count=clips), False)):
        comparator = Comparator(chip, graph="stock", equilibrium_samples=0)
        comparator.add(bent, values)
        assert comparator.verdict().check("record").passed == passed
