"""Faults of delta encoding: each is found, by the right check, in the right place (E15); correct runs raise no alarm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.verdict import Verdict
from tests.helpers.chip_networks import conv_network
from tests.helpers.naive_delta import DeltaFaults, as_delta, random_delta_network, simulate_delta
from tests.helpers.strategies import random_values

SEED = 3


def case(seed: int = SEED) -> tuple[ChipNetwork, np.ndarray]:
    """Two convolutional layers, the second fed back to the first."""
    chip = replace(as_delta(conv_network(seed)), steps=8)
    return chip, random_values(np.random.default_rng(seed), chip, 3)


def judge(faults: DeltaFaults, seed: int = SEED) -> tuple[ChipNetwork, Verdict, Result, Result]:
    chip, values = case(seed)
    right, broken = simulate_delta(chip, values), simulate_delta(chip, values, faults=faults)
    return chip, compare(broken, chip, values), right, broken


def failed(verdict: Verdict) -> set[str]:
    return {check.name for check in verdict.failed}


def first_message(result: Result, layer: int) -> tuple[int, int, int]:
    """(sample, step from 1, neuron) of a message of this layer that still arrives."""
    assert result.spikes is not None
    train = result.spikes[layer].reshape(len(result.readout), result.steps, -1)
    sample, step, neuron = (int(i) for i in np.argwhere(train[:, : result.steps // 2])[0])
    return sample, step + 1, neuron


@pytest.mark.parametrize("seed", range(12))
def test_a_correct_run_passes(seed):
    rng = np.random.default_rng(seed)
    chip = random_delta_network(rng)
    values = random_values(rng, chip, 2)
    result = simulate_delta(chip, values)
    verdict = compare(result, chip, values)
    assert failed(verdict) <= ({"sums"} if result.clip_count.any() else set()), verdict.to_text()


@pytest.mark.parametrize("change", ["lost", "doubled", "altered"])
def test_a_wrong_message_is_found_in_the_layers_that_received_it(change):
    chip, values = case()
    sample, step, neuron = first_message(simulate_delta(chip, values), 0)

    def deliver(layer, tau, changes):
        if (layer, tau) == (0, step):
            changes = changes.copy()
            changes[sample, neuron] = {"lost": 0, "doubled": 2 * changes[sample, neuron], "altered": changes[sample, neuron] + 1}[change]
        return changes

    chip, verdict, _, _ = judge(DeltaFaults(delivered=deliver))
    assert {"sums", "messages"} <= failed(verdict)
    assert {o["sample"] for o in verdict.check("sums").offenders} == {sample}
    assert not verdict.faithful


def test_a_wrong_weight_is_found_in_its_neuron():
    def flip(index, matrix):
        matrix = matrix.copy()
        if index == 1:
            matrix[2] += np.where(matrix[2] > 0, -1, 1)
        return matrix

    chip, verdict, _, _ = judge(DeltaFaults(matrix=flip))
    target = chip.synapses[1].target
    neuron = [int(i) for i in np.unravel_index(2, chip.layer(target).shape)]
    assert {(o["layer"], tuple(o["neuron"])) for o in verdict.check("sums").offenders} == {(target, tuple(neuron))}


def test_a_state_that_was_not_reset_is_found():
    chip, verdict, _, _ = judge(DeltaFaults(start=lambda layer, sums: sums + (layer == 1)))
    assert failed(verdict) >= {"sums"}
    assert {o["layer"] for o in verdict.check("sums").offenders} == {chip.layers[1].name}


def test_a_clip_of_a_sum_is_a_failure_that_names_the_layer():
    chip, values = case()
    fed = next(i for i, layer in enumerate(chip.layers) if any(s.source != "input" for s in chip.into(layer)))
    start = DeltaFaults(received=lambda layer, tau, received: received + (2**24 if (layer, tau) == (fed, 2) else 0))
    verdict = compare(simulate_delta(chip, values, faults=start), chip, values)
    sums = verdict.check("sums")
    assert not sums.passed and sums.numbers["clips"] >= chip.layers[fed].size and sums.numbers["violated"] == 0
    assert {o["kind"] for o in sums.offenders} == {"clip"} and sums.offenders[0]["layer"] == chip.layers[fed].name


@pytest.mark.parametrize("name", ["traces", "potentials", "late", "readout", "messages"])
def test_any_altered_part_of_a_result_is_found(name):
    chip, values = case()
    right = simulate_delta(chip, values)
    part = getattr(right, name)
    if isinstance(part, tuple):
        changed = (part[0].copy(), *part[1:])
        changed[0].reshape(-1)[0] += 1
    else:
        changed = part.copy()
        changed[0, 0] += 1
    verdict = compare(replace(right, **{name: changed}), chip, values)
    assert not verdict.faithful and "messages" in failed(verdict)
