"""The constant input current is the written-out sum, for every kind of connection and any batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.limits import BIAS_MAX
from tests.helpers.naive_simulator import host_drive, matrix_of, shifted
from tests.helpers.strategies import random_network, random_values


@pytest.mark.parametrize("seed", range(30))
def test_the_input_current_is_the_written_out_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chip = random_network(rng, kind="pixels" if seed % 2 else "current", layers=1, wild=seed % 3 == 0)
    values = random_values(rng, chip, 3)
    first = chip.layers[0]
    if chip.host_drive is not None:
        expected = 64 * (host_drive(chip, values) + first.bias.reshape(-1))
    else:
        synapse = next(s for s in chip.synapses if s.source == "input")
        total = values.reshape(3, -1).astype(np.int64) @ matrix_of(synapse, chip.input.shape, first.shape).T
        expected = shifted(total, 6 + synapse.exponent) + 64 * first.bias.reshape(-1)
    current = input_current(chip, values)
    assert current.dtype == np.int32
    np.testing.assert_array_equal(current.reshape(3, -1), expected)


def test_the_host_drive_does_not_depend_on_the_batch() -> None:
    rng = np.random.default_rng(5)
    chip = random_network(rng, kind="current", dense=False)
    values = random_values(rng, chip, 9)
    np.testing.assert_array_equal(input_current(chip, values), np.concatenate([input_current(chip, values[i : i + 1]) for i in range(9)]))


def test_a_host_drive_beyond_a_bias_is_refused() -> None:
    rng = np.random.default_rng(6)
    chip = random_network(rng, kind="current", layers=1)
    assert chip.host_drive is not None
    loud = replace(chip, host_drive=replace(chip.host_drive, bias=chip.host_drive.bias + 10.0 * BIAS_MAX))
    with pytest.raises(BadNetwork, match=r"the host's drive reaches .* weight units, but a bias can be at most 131071"):
        input_current(loud, random_values(rng, chip, 2))


def test_an_input_current_beyond_32_bits_is_refused() -> None:
    rng = np.random.default_rng(7)
    chip = random_network(rng, kind="pixels", layers=1, dense=True)
    synapses = [replace(s, exponent=12, weight=np.full_like(s.weight, 127)) if s.source == "input" else s for s in chip.synapses]
    with pytest.raises(BadNetwork, match="which does not fit in 32 bits"):
        input_current(replace(chip, synapses=tuple(synapses)), np.full((1, *chip.input.shape), 255, np.uint8))


def test_events_have_no_constant_current() -> None:
    chip = random_network(np.random.default_rng(8), kind="events")
    with pytest.raises(BadArgument, match="no constant input current"):
        input_current(chip, random_values(np.random.default_rng(8), chip, 1))
