"""The trained digits network that comes with the package, if it is there."""

from __future__ import annotations

import pytest

from fsnn_lava.chip.network import ChipNetwork
from fsnn_lava.data import load
from fsnn_lava.errors import FsnnError
from fsnn_lava.models import find
from hw_tests.test_synapses import assert_same
from tests.reference import simulate


def test_the_trained_digits_network(target):
    try:
        chip = ChipNetwork.load(find("digits"))
    except FsnnError as error:
        pytest.skip(f"the trained network is not here: {error}")
    values = load("digits").test.batch(slice(0, 2))
    network = target.network(chip)
    if target.rounding(chip):
        pytest.skip("stock processes round a leaky neuron that subtracts in their own way: fsnn-compare judges that run")
    assert_same(target.run(chip, values), simulate(network, values))
