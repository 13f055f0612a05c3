"""The first spike that differs is the first in the chip's time, in which layer l is l steps late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.verify.divergence import different_parts, differing_samples, first_divergence, first_divergent_layer, locate_divergence
from tests.helpers.chip_networks import conv_network, dense_network


def trains(*shapes):
    return tuple(np.zeros((1, 9, *shape), np.uint8) for shape in shapes)


def test_equal_trains_do_not_diverge():
    assert first_divergence(trains((2,), (3,)), trains((2,), (3,))) is None


def test_an_earlier_layer_wins_only_if_it_is_earlier_on_the_chip():
    """Step 3 of the second layer is step 4 of the chip: as late as step 4 of the first, earlier than its step 5."""
    expected, got = trains((2,), (3, 1, 2)), trains((2,), (3, 1, 2))
    got[1][0, 2, 2, 0, 1] = 1
    assert first_divergence(got, expected) == (1, 3, 5)
    got[0][0, 4, 1] = 1
    assert first_divergence(got, expected) == (1, 3, 5)
    got[0][0, 3, 1] = 1
    assert first_divergence(got, expected) == (0, 4, 1)


def test_a_lost_spike_is_located_with_the_emulators_potentials():
    chip = dense_network(1)
    emulator = Emulator(chip)
    values = np.random.default_rng(0).integers(0, 256, (1, *chip.input.shape), dtype=np.uint8)
    result = emulator.run(values, spikes=True)
    train = result.spikes[0].copy()
    step, neuron = (int(n) for n in np.argwhere(train[0])[0])
    train[0, step, neuron] = 0
    found = locate_divergence(emulator, values, replace(result, spikes=(train,)), sample=7)
    assert (found["sample"], found["layer"], found["neuron"], found["step"]) == (7, "l1", [neuron], step + 1)
    assert (found["backend_spike"], found["emulator_spike"], found["threshold"]) == (0, 1, 700 * 64)
    assert found["emulator_after"] == int(emulator.run(values, steps=step + 1).potentials[0][0, neuron])
    assert found["what"].startswith("the backend does not spike, the emulator does")


def test_within_a_loop_the_first_layer_cannot_be_told_without_trains():
    """Two layers that feed each other both end differently: not localised. If only one of them does, it is the one."""
    chip = conv_network(1)
    emulator = Emulator(chip)
    values = np.random.default_rng(0).integers(0, 256, (1, *chip.input.shape), dtype=np.uint8)
    result = emulator.run(values)
    both = tuple(u + 64 for u in result.potentials)
    found = locate_divergence(emulator, values, replace(result, potentials=both), sample=0)
    assert "layer" not in found
    assert found["what"].startswith("not localised: layers 'l1', 'l2' end differently from the emulator")
    one = (result.potentials[0], both[1])
    assert locate_divergence(emulator, values, replace(result, potentials=one), sample=0)["layer"] == "l2"


def test_without_feedback_the_lowest_layer_is_the_first():
    chip = conv_network(1)
    assert first_divergent_layer(chip, [0, 1]) is None
    forward = replace(chip, synapses=tuple(s for s in chip.synapses if chip.is_forward(s)))
    assert first_divergent_layer(forward, [0, 1]) == 0
    assert first_divergent_layer(forward, [1]) == 1


def test_without_a_difference_in_spikes_the_end_is_compared():
    chip = dense_network(1)
    emulator = Emulator(chip)
    values = np.random.default_rng(0).integers(0, 256, (1, *chip.input.shape), dtype=np.uint8)
    result = emulator.run(values)
    bent = result.readout.copy()
    bent[0, 2] += 1
    assert locate_divergence(emulator, values, replace(result, readout=bent), sample=0)["neuron"] == [2]
    other = replace(result, operations=result.operations + 1, late=tuple(late + 1 for late in result.late))
    assert (
        locate_divergence(emulator, values, other, sample=0)["what"] == "late messages and operations differ; spikes and potentials do not"
    )


@pytest.mark.parametrize(
    ("name", "called"), [("operations", "operations"), ("updates", "updates"), ("clip_count", "clip counts"), ("residual", "residuals")]
)
def test_every_part_of_a_result_is_compared(name, called):
    chip = dense_network(1, decay=205)
    result = fl.run(chip, np.random.default_rng(0).integers(0, 256, (2, *chip.input.shape), dtype=np.uint8), residual=True)
    bent = getattr(result, name).copy()
    bent[1] += 1
    assert differing_samples(replace(result, **{name: bent}), result).tolist() == [False, True]
    assert different_parts(replace(result, **{name: bent}), result) == called
    assert different_parts(result, result) == ""
