"""The emulator of delta encoding against the naive one (E15): every message, sum, clip and operation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.backends.emulator.limit_cycle import limit_cycles
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork, DeltaEncoding, DenseSynapse, Input, Layer, Readout
from fsnn_lava.running.run import run
from tests.helpers.naive_delta import random_delta_network, simulate_delta
from tests.helpers.naive_simulator import assert_same
from tests.helpers.strategies import random_network, random_values


def toy(weight: int = -4, *, band: int = 1, steps: int = 12) -> ChipNetwork:
    """One neuron, threshold 4, driven by two pixels of weights 3 and -1, fed back onto itself; a rate of 1 is 64."""
    layer = Layer(name="a", shape=(1,), threshold=np.array(4), bias=np.array([1]), scale=np.array(0.5))
    inward = DenseSynapse(source="input", target="a", weight=np.array([[3, -1]]), exponent=-6)
    back = DenseSynapse(source="a", target="a", weight=np.array([[weight]]))
    readout = Readout(weight=np.array([[1], [-2]]), bias=np.array([0, 3]), scale=np.array(2.0))
    return ChipNetwork(
        input=Input(kind="pixels", shape=(2,)),
        layers=(layer,),
        synapses=(inward, back),
        readout=readout,
        steps=steps,
        delta=DeltaEncoding(rate_bits=6, dead_bands=(band,)),
    )


def pixels(*rows: tuple[int, int]) -> np.ndarray:
    return np.array(rows, dtype=np.uint8)


@pytest.mark.parametrize("seed", range(60))
def test_random_networks_run_as_the_naive_simulator_says(seed):
    rng = np.random.default_rng(seed)
    chip = random_delta_network(rng, wild=seed % 4 == 0)
    values = random_values(rng, chip, 3)
    assert_same(DeltaEmulator(chip).run(values, spikes=True), simulate_delta(chip, values))


def test_the_random_networks_meet_what_they_are_for():
    """Among them are runs that clip, that fall silent, that end in a limit cycle, and networks of several layers."""
    met = {"clip": 0, "silent": 0, "cycle": 0, "late": 0, "layers": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        chip = random_delta_network(rng, wild=seed % 4 == 0)
        result = DeltaEmulator(chip).run(random_values(rng, chip, 3), steps=24)
        assert result.messages is not None and result.cycles is not None
        met["clip"] += int(result.clip_count.sum() > 0)
        met["silent"] += int((result.messages[:, -5:] == 0).all())
        met["cycle"] += int(result.cycles.any())
        met["late"] += int(any(part.any() for part in result.late))
        met["layers"] += int(len(chip.layers) > 2)
    assert all(met.values()), met


def test_one_neuron_by_hand():
    """z = 64 (1 + 3 * 20 / 64) = 124 at first, so y = 124 >> 2 = 31; then S = 1 * 31, y = 155 >> 2 = 38, a change of 7."""
    result = DeltaEmulator(toy(1, steps=2)).run(pixels((20, 0)), spikes=True)
    assert result.spikes is not None
    assert result.spikes[0][0, :, 0].tolist() == [31, 7]
    assert result.potentials[0].tolist() == [[31]]
    assert result.late[0].tolist() == [[7]]
    assert result.rates[0].tolist() == [[38 / 64]]
    assert result.readout.tolist() == [[38, -76 + 3 * 64]]
    assert result.logits.tolist() == [[2 * 38 / 64, 2 * (3 - 76 / 64)]]
    assert result.messages is not None and result.messages.tolist() == [[1, 1]]


def test_a_change_equal_to_the_dead_band_is_sent_and_a_smaller_one_is_not():
    seven, eight = (DeltaEmulator(toy(1, band=band, steps=2)).run(pixels((20, 0))) for band in (7, 8))
    assert seven.counts[0].tolist() == [[2]] and eight.counts[0].tolist() == [[1]]
    assert eight.rates[0].tolist() == [[31 / 64]]


def test_a_limit_cycle_is_reported_with_its_period():
    """Weight -4 at threshold 4: y = clip(drive - y), which alternates between the drive and 0."""
    result = DeltaEmulator(toy(-4)).run(pixels((20, 0), (0, 255)))
    assert result.cycles is not None and result.last_message is not None
    assert result.cycles.tolist() == [2, 0]  # the second sample is inhibited: it never sends
    assert result.last_message.tolist() == [12, 0]


def test_a_silent_sample_is_in_no_cycle_and_its_last_message_is_known():
    result = DeltaEmulator(toy(1)).run(pixels((20, 0)))
    assert result.cycles is not None and result.last_message is not None and result.messages is not None
    assert result.cycles.tolist() == [0]
    last = int(result.last_message[0])
    assert 2 < last < 12 and result.messages[0, last - 1] == 1 and not result.messages[0, last:].any()


def test_a_cycle_needs_as_many_equal_steps_as_the_longest_delay():
    hashes = np.array([[1, 2, 1, 2, 1, 2], [9, 9, 9, 2, 1, 2]], dtype=np.uint64)
    messages = np.ones((2, 6), dtype=np.int32)
    assert limit_cycles(hashes, messages, longest_delay=1).tolist() == [2, 0]
    assert limit_cycles(hashes, messages, longest_delay=0).tolist() == [2, 2]


def test_the_static_input_is_sent_once():
    chip = toy(1, steps=1)
    once, often = (DeltaEmulator(chip).run(pixels((20, 7)), steps=steps).operations[0] for steps in (1, 9))
    messages = DeltaEmulator(chip).run(pixels((20, 7)), steps=9).counts[0][0, 0]
    assert once == 2 + 2  # two pixels; one message to two classes, its feedback is under way
    assert often == 2 + (messages * 2) + messages  # nothing is under way after 9 steps


def test_samples_do_not_depend_on_their_batch():
    rng = np.random.default_rng(3)
    chip = random_delta_network(rng, layers=3)
    values = random_values(rng, chip, 5)
    whole = DeltaEmulator(chip).run(values, spikes=True)
    for row in range(5):
        part = slice(row, row + 1)
        assert_same(replace(DeltaEmulator(chip).run(values[part], spikes=True), seconds=0), replace(whole.part(part), seconds=0))


def test_run_chooses_the_emulator_by_the_encoding():
    chip = toy(1)
    assert_same(run(chip, pixels((20, 0))), DeltaEmulator(chip).run(pixels((20, 0))))


def test_each_emulator_refuses_the_other_encoding():
    with pytest.raises(BadArgument, match="delta encoding; run it with"):
        Emulator(toy(1))
    with pytest.raises(BadArgument, match="uses rate coding; run it with"):
        DeltaEmulator(random_network(np.random.default_rng(0)))
