"""The trained digits network that comes with the package, if it is there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import FsnnError
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.models.find import find_model
from fsnn_lava.placement.obstacles import obstacles, risks
from hw_tests.test_synapses import assert_same
from tests.helpers.naive_simulator import simulate


@pytest.mark.parametrize("reset", ["as trained", "zero"])
def test_the_trained_digits_network(target, reset):
    try:
        chip = ChipNetwork.load(find_model("digits"))
    except FsnnError as error:
        pytest.skip(f"the trained network is not here: {error}")
    if reset == "zero":
        chip = replace(chip, layers=tuple(replace(layer, reset="zero") for layer in chip.layers))
    in_the_way = [*obstacles(chip), *risks(chip)] if target.stock else []
    if in_the_way:
        pytest.skip(f"stock processes may not hold it exactly: {in_the_way[0]}")
    values = load("digits").test.batch(slice(0, 2))
    network = target.network(chip)
    assert_same(target.run(chip, values), simulate(network, values))
