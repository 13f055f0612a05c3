"""The trained digits network with 8-bit weights, as it was when the records were made; the one in the package has 6-bit weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsnn_lava.data import load
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.placement.obstacles import obstacles, possible_obstacles
from hw_tests.test_synapses import assert_same
from tests.helpers.naive_simulator import simulate


@pytest.mark.parametrize("reset", ["as trained", "zero"])
def test_the_trained_digits_network(target, reset):
    chip = ChipNetwork.load(Path(__file__).with_name("digits-8bit.h5"))
    if reset == "zero":
        chip = replace(chip, layers=tuple(replace(layer, reset="zero") for layer in chip.layers))
    in_the_way = [*obstacles(chip), *possible_obstacles(chip)] if target.stock else []
    if in_the_way:
        pytest.skip(f"stock processes may not represent it exactly: {in_the_way[0]}")
    values = load("digits").test.batch(slice(0, 2))
    network = target.network(chip)
    assert_same(target.run(chip, values), simulate(network, values))
