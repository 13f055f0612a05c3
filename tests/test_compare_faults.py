"""Single faults in a run: each must be found, and the right check must name the right place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fsnn_lava.ir.network import ChipNetwork, ConvSynapse
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.checks.spikes import SpikesCheck
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.divergence import first_divergence
from fsnn_lava.verify.verdict import Verdict
from tests.chip_networks import conv_network, dense_network
from tests.reference import Faults, matrix_of, shifted, simulate

SAMPLES = 3


def values_of(chip: ChipNetwork, seed: int = 5) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if chip.input.kind == "events":
        return (rng.random((SAMPLES, chip.steps, *chip.input.shape)) < 0.5).astype(np.uint8)
    return rng.integers(0, 256, (SAMPLES, *chip.input.shape), dtype=np.uint8)


def judge(chip: ChipNetwork, result: Result, values: np.ndarray[Any, Any]) -> Verdict:
    return compare(replace(result, digest=chip.digest()), chip, values)


def places(verdict: Verdict) -> set[tuple[str, tuple[int, ...]]]:
    """(layer, neuron) of everything the charge check lists."""
    return {(o["layer"], tuple(o["neuron"])) for o in verdict.check("charge").offenders}


def first_difference(chip: ChipNetwork, broken: Result, right: Result) -> tuple[int, str, tuple[int, ...], int]:
    """(sample, layer, neuron, step) where two runs first differ in the chip's time, by exhaustive search."""
    assert broken.spikes is not None and right.spikes is not None
    for sample in range(SAMPLES):
        for time in range(chip.steps + len(chip.layers)):
            for index, layer in enumerate(chip.layers):
                if 0 <= time - index < chip.steps:
                    a, b = broken.spikes[index][sample, time - index], right.spikes[index][sample, time - index]
                    if (a != b).any():
                        neuron = tuple(int(i) for i in np.argwhere(a != b)[0])
                        return sample, layer.name, neuron, time - index + 1
    raise AssertionError("the fault changed no spike")


NETWORKS = {
    "dense": lambda **o: dense_network(3, size=6, **o),
    "conv": lambda **o: conv_network(3, **o),
}
BOTH = pytest.mark.parametrize("name", sorted(NETWORKS))
LEAKS = pytest.mark.parametrize("decay", [0, 205], ids=["IF", "LIF"])


@BOTH
@LEAKS
def test_a_correct_run_passes(name, decay):
    chip = NETWORKS[name](decay=decay)
    values = values_of(chip)
    verdict = judge(chip, simulate(chip, values), values)
    assert verdict.passed, verdict.to_text()


@BOTH
@LEAKS
def test_one_weight_bit_is_found_in_its_neuron(name, decay):
    chip = NETWORKS[name](decay=decay)
    values = values_of(chip)
    right = simulate(chip, values)
    number = len(chip.synapses) - 1  # the feedback
    synapse = chip.synapses[number]
    source, target = chip.layer(synapse.source), chip.layer(synapse.target)
    spent = right.counts[chip.index(source.name)][0].reshape(-1) - right.late[0][0].reshape(-1)
    column = int(np.argmax(spent))
    assert spent[column] > 0
    matrix = matrix_of(synapse, source.shape, target.shape)
    row = int(np.flatnonzero(matrix[:, column])[-1])

    def flip(index, matrix):
        if index == number:
            matrix = matrix.copy()
            matrix[row, column] ^= 64
        return matrix

    broken = simulate(chip, values, faults=Faults(matrix=flip))
    verdict = judge(chip, broken, values)
    assert not verdict.check("charge").passed
    neuron = tuple(int(i) for i in np.unravel_index(row, target.shape))
    assert places(verdict) == {(target.name, neuron)}
    assert not verdict.check("spikes").passed


@BOTH
@LEAKS
def test_a_lost_spike_is_found_in_the_layer_that_missed_it(name, decay):
    chip = NETWORKS[name](decay=decay)
    values = values_of(chip)
    right = simulate(chip, values)
    assert right.spikes is not None
    train = right.spikes[0][1].reshape(chip.steps, -1)
    tau, neuron = (int(i) for i in np.argwhere(train[chip.steps // 2 : -1])[0])
    tau += chip.steps // 2

    def lose(layer, now, spikes):
        if (layer, now) == (0, tau + 1):
            spikes = spikes.copy()
            assert spikes[1, neuron] == 1
            spikes[1, neuron] = 0
        return spikes

    broken = simulate(chip, values, faults=Faults(delivered=lose))
    verdict = judge(chip, broken, values)
    charge = verdict.check("charge")
    assert not charge.passed
    assert {o["sample"] for o in charge.offenders} == {1}
    listens = {s.target for s in chip.synapses if s.source == chip.layers[0].name} | ({"readout"} if len(chip.layers) == 1 else set())
    assert {layer for layer, _ in places(verdict)} <= listens
    forward = next(s for s in chip.synapses if s.source == chip.layers[0].name)
    weights = matrix_of(forward, chip.layers[0].shape, chip.layer(forward.target).shape)[:, neuron]
    for offender in charge.offenders:
        if offender["layer"] == forward.target:
            missing = weights[np.ravel_multi_index(offender["neuron"], chip.layer(forward.target).shape)]
            assert np.sign(offender["off"]) == -np.sign(missing)  # it lacks what it should have received
            if decay == 0:
                assert offender["off"] == -64 * missing


@BOTH
@LEAKS
def test_a_threshold_off_by_one_is_found_in_its_layer(name, decay):
    chip = NETWORKS[name](decay=decay)
    values = values_of(chip)
    last = chip.layers[-1]
    wrong = replace(chip, layers=(*chip.layers[:-1], replace(last, threshold=last.threshold + 1)))
    broken = simulate(wrong, values)
    verdict = judge(chip, broken, values)
    charge = verdict.check("charge")
    assert not charge.passed
    assert {layer for layer, _ in places(verdict)} == {last.name}
    if decay == 0:
        for offender in charge.offenders:
            count = broken.counts[-1][(offender["sample"], *offender["neuron"])]
            assert offender["off"] == -64 * count  # each spike took 64 units more than it should


@LEAKS
def test_a_transposed_kernel_is_found_in_its_layer(decay):
    chip = conv_network(4, decay=decay)
    values = values_of(chip)
    position = next(i for i, s in enumerate(chip.synapses) if isinstance(s, ConvSynapse) and s.source == "l1")
    synapse = chip.synapses[position]
    turned = replace(synapse, weight=np.swapaxes(synapse.weight, 2, 3))
    broken = simulate(replace(chip, synapses=(*chip.synapses[:position], turned, *chip.synapses[position + 1 :])), values)
    verdict = judge(chip, broken, values)
    assert not verdict.check("charge").passed
    assert {layer for layer, _ in places(verdict)} == {"l2"}
    assert verdict.check("charge").offenders[0]["layer"] == verdict.check("spikes").offenders[0]["layer"] == "l2"


@LEAKS
def test_a_transposed_dense_feedback_is_found(decay):
    chip = dense_network(4, size=6, decay=decay)
    values = values_of(chip)
    turned = replace(chip.synapses[1], weight=chip.synapses[1].weight.T)
    verdict = judge(chip, simulate(replace(chip, synapses=(chip.synapses[0], turned)), values), values)
    assert not verdict.check("charge").passed
    assert {layer for layer, _ in places(verdict)} == {"l1"}


@BOTH
@LEAKS
def test_feedback_that_is_one_step_later_is_found_in_the_first_layer(name, decay):
    chip = NETWORKS[name](decay=decay)
    values = values_of(chip)
    feedback = chip.feedback[0]
    delay, bits = chip.delay(feedback), 6 + feedback.exponent
    source = chip.index(feedback.source)
    matrix = matrix_of(feedback, chip.layers[source].shape, chip.layers[0].shape)
    sent: dict[int, np.ndarray[Any, Any]] = {}

    def remember(layer, tau, spikes):
        if layer == source:
            sent[tau] = spikes
        return spikes

    def later(layer, tau, current):
        if layer != 0:
            return current
        silence = np.zeros((SAMPLES, chip.layers[source].size), dtype=np.int64)
        due, old = sent.get(tau - delay, silence), sent.get(tau - delay - 1, silence)
        return current - shifted(due @ matrix.T, bits) + shifted(old @ matrix.T, bits)

    broken = simulate(chip, values, faults=Faults(delivered=remember, current=later))
    verdict = judge(chip, broken, values)
    assert not verdict.check("charge").passed
    assert {layer for layer, _ in places(verdict)} == {chip.layers[0].name}
    assert not verdict.check("spikes").passed


@BOTH
def test_an_accumulator_that_is_clipped_but_not_counted_is_found_in_its_neuron(name):
    chip = NETWORKS[name]()
    values = values_of(chip)
    right = simulate(chip, values)
    lowest = [int(u.min()) for u in right.potentials]
    layer = int(np.argmin(lowest))
    floor = lowest[layer] // 2
    broken = simulate(chip, values, faults=Faults(potential=lambda at, tau, u: np.maximum(u, floor) if at == layer else u))
    verdict = judge(chip, broken, values)
    assert not verdict.check("charge").passed
    assert {name for name, _ in places(verdict)} == {chip.layers[layer].name}
    assert all(o["off"] > 0 for o in verdict.check("charge").offenders)  # at the bottom clipping adds charge


def test_a_counted_clip_of_an_active_neuron_fails_by_name():
    chip = dense_network(1, size=5)
    values = values_of(chip)

    def surge(layer, tau, current):
        current = current.copy()
        if tau == 2:
            current[1, 3] = -(2**24)
        if tau > 2:
            current[1, 3] = 2**23 - 1
        return current

    broken = simulate(chip, values, faults=Faults(current=surge))
    assert broken.clipped[0][1, 3] & 1
    assert broken.counts[0][1, 3] > 0
    charge = judge(chip, broken, values).check("charge")
    assert not charge.passed
    assert ("l1", [3], 1) in [(o["layer"], o["neuron"], o["sample"]) for o in charge.offenders]


def test_a_clip_that_changes_a_rate_fails_even_in_a_correct_run():
    """Down by 16.6 million, clipped at 8.4, up by 16.6 million again: the neuron spikes although its input sums to zero."""
    base = dense_network(1, kind="events", inputs=2, size=1)
    weight = np.array([[-127, 127]])
    chip = replace(base, synapses=(replace(base.synapses[0], weight=weight, exponent=3), base.synapses[1]), steps=4)
    values = np.zeros((2, 4, 2), dtype=np.uint8)
    values[1, 0, 0] = values[1, 1, 1] = 255
    result = simulate(chip, values)
    assert result.clipped[0][1, 0] == 1
    assert result.counts[0][1, 0] > 0
    charge = compare(result, chip, values).check("charge")
    assert not charge.passed
    assert (charge.numbers["violated"], charge.numbers["harmful_clips"]) == (0, 1)
    assert [(o["sample"], o["layer"], o["neuron"], o["kind"]) for o in charge.offenders] == [(1, "l1", [0], "clip")]


def test_a_silent_neuron_clipped_at_the_bottom_is_listed_and_harmless():
    base = dense_network(1, size=5)
    bias = base.layers[0].bias.copy()
    bias[2] = -(2**17) + 1  # reaches the bottom in a few steps and never spikes
    chip = replace(base, layers=(replace(base.layers[0], bias=bias),))
    values = values_of(chip)
    result = simulate(chip, values)
    assert result.clipped[0][:, 2].all() and not result.counts[0][:, 2].any()
    verdict = compare(result, chip, values)
    assert verdict.passed, verdict.to_text()
    assert verdict.check("charge").numbers["harmless_clips"] == SAMPLES


def test_a_saturated_neuron_clipped_at_the_top_is_listed_and_harmless():
    base = dense_network(1, size=5)
    bias = base.layers[0].bias.copy()
    bias[2] = 2**17 - 1
    chip = replace(base, layers=(replace(base.layers[0], bias=bias),))
    values = values_of(chip)
    result = simulate(chip, values)
    assert (result.clipped[0][:, 2] == 2).all() and (result.counts[0][:, 2] == chip.steps).all()
    verdict = compare(result, chip, values)
    assert verdict.passed, verdict.to_text()
    assert verdict.check("charge").numbers["harmless_clips"] == SAMPLES


def test_a_clipped_readout_fails():
    base = dense_network(1, size=5)
    chip = replace(base, readout=replace(base.readout, bias=np.array([5, 2**17 - 1, 9])))
    values = values_of(chip)
    charge = compare(simulate(chip, values), chip, values).check("charge")
    assert not charge.passed
    assert {o["layer"] for o in charge.offenders} == {"readout"}


@BOTH
@LEAKS
def test_state_that_is_not_reset_between_samples_is_found_in_the_next_sample(name, decay):
    chip = NETWORKS[name](decay=decay, kind="events") if name == "dense" else NETWORKS[name](decay=decay)
    values = values_of(chip)
    right = simulate(chip, values)
    carried = right.potentials[0][0].reshape(-1).astype(np.int64)
    assert np.count_nonzero(carried)

    def carry(layer, tau, current):
        if (layer, tau) != (0, 1):
            return current
        current = current.copy()
        current[1] += carried
        return current

    broken = simulate(chip, values, faults=Faults(current=carry))
    charge = judge(chip, broken, values).check("charge")
    assert not charge.passed
    assert {(o["sample"], o["layer"]) for o in charge.offenders} == {(1, chip.layers[0].name)}
    if decay == 0:
        for offender in charge.offenders:
            assert offender["off"] == carried[np.ravel_multi_index(offender["neuron"], chip.layers[0].shape)]


@BOTH
@LEAKS
def test_a_hard_reset_fails_charge_and_residual(name, decay):
    chip = NETWORKS[name](decay=decay)
    values = values_of(chip)
    broken = simulate(replace(chip, layers=tuple(replace(layer, reset="zero") for layer in chip.layers)), values)
    verdict = judge(chip, broken, values)
    assert not verdict.check("charge").passed
    assert all(o["off"] < 0 for o in verdict.check("charge").offenders)  # reset to zero discards charge
    assert not verdict.check("residual").passed
    assert not verdict.check("spikes").passed


@BOTH
def test_the_first_divergence_is_where_the_spike_was_lost(name):
    chip = NETWORKS[name]()
    values = values_of(chip)
    right = simulate(chip, values)

    def lose(layer, now, spikes):
        return spikes * (now != 5) if layer == 0 else spikes

    broken = simulate(chip, values, faults=Faults(delivered=lose))
    sample, layer, neuron, step = first_difference(chip, broken, right)
    found = judge(chip, broken, values).check("spikes").offenders[0]
    assert (found["sample"], found["layer"], tuple(found["neuron"]), found["step"]) == (sample, layer, neuron, step)
    assert found["backend_spike"] != found["emulator_spike"]
    index = chip.index(layer)
    short = simulate(chip, values[:, :step] if chip.input.kind == "events" else values, steps=step)
    assert found["emulator_after"] == short.potentials[index][(sample, *neuron)]


def test_what_is_first_is_decided_in_the_chips_time():
    """Layer 3 at its step 3 works in the chip's step 5, layer 1 at its step 4 in step 4: that one comes first."""
    right = tuple(np.zeros((1, 6, 2, 2), dtype=np.uint8) for _ in range(3))
    broken = tuple(train.copy() for train in right)
    broken[2][0, 2, 1, 0] = 1
    broken[0][0, 3, 0, 1] = 1
    assert first_divergence(broken, right) == (0, 4, 1)
    assert first_divergence(right, right) is None


def test_runs_of_a_single_step_can_diverge_too():
    right = (np.zeros((1, 1, 2, 3), dtype=np.uint8),)
    broken = (right[0].copy(),)
    broken[0][0, 0, 1, 2] = 1
    assert first_divergence(broken, right) == (0, 1, 5)


def test_without_recorded_spikes_the_neuron_is_still_named():
    chip = dense_network(3, size=6)
    values = values_of(chip)
    broken = simulate(chip, values, faults=Faults(current=lambda at, tau, i: i + 64 * (np.arange(6) == 4) * (tau == 7)))
    spikes = judge(chip, replace(broken, spikes=None), values).check("spikes")
    assert not spikes.passed
    assert spikes.offenders[0]["layer"] == "l1"
    assert "record spikes" in spikes.offenders[0]["what"]
    assert places(judge(chip, broken, values)) == {("l1", (4,))}


def test_differences_of_all_batches_are_counted_and_three_samples_are_located():
    """Two batches of three samples, in each of which one neuron has 2 spikes too many and another 1 too few: 6 times 3."""
    chip = dense_network(3, size=6)
    values = values_of(chip)
    right = simulate(chip, values)
    check = SpikesCheck(chip)
    bent = replace(right, counts=(right.counts[0] + np.array([2, 0, 0, -1, 0, 0], right.counts[0].dtype),), spikes=None, backend="sim")
    for offset in (0, SAMPLES):
        check.add(Batch(chip=chip, result=bent, values=values, labels=None, offset=offset))
    numbers = check.check().numbers
    assert (numbers["samples"], numbers["different"], numbers["count_distance"]) == (6, 6, 18)
    assert numbers["spikes"] == 2 * right.counts[0].sum()
    assert [(o["sample"], o["neuron"]) for o in check.offenders] == [(0, [0]), (1, [0]), (2, [0])]
    for row, found in enumerate(check.offenders):
        count, potential = int(right.counts[0][row, 0]), int(right.potentials[0][row, 0])
        assert (found["backend"], found["emulator"]) == ([count + 2, potential], [count, potential])


def test_wrong_late_spikes_are_found():
    chip = dense_network(3, size=6)
    values = values_of(chip)
    result = simulate(chip, values)
    late = result.late[0].copy()
    late[2, 1] += 1
    verdict = compare(replace(result, late=(late,)), chip, values)
    assert not verdict.check("charge").passed
    assert {o["sample"] for o in verdict.check("charge").offenders} == {2}


def test_a_wrong_readout_is_found_in_its_class():
    chip = conv_network(3)
    values = values_of(chip)
    result = simulate(chip, values)
    readout = result.readout.copy()
    readout[1, 4] += 1
    verdict = compare(replace(result, readout=readout), chip, values)
    assert places(verdict) == {("readout", (4,))}
    assert verdict.check("charge").offenders[0]["off"] == 1
    assert verdict.check("spikes").offenders[0]["layer"] == "readout"
