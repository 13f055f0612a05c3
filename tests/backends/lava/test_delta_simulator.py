"""Delta encoding as Lava processes: every message, sum, clip and operation equals the emulator's, on random graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from tests.backends.lava.needs import needs_lava
from tests.helpers.naive_delta import random_delta_network
from tests.helpers.naive_simulator import assert_same
from tests.helpers.strategies import random_values

needs_lava()


@pytest.mark.parametrize("seed", range(5))
def test_random_networks_run_as_on_the_emulator(seed):
    from fsnn_lava.backends.lava.delta_simulator import DeltaSimulator

    rng = np.random.default_rng(seed)
    chip = random_delta_network(rng, layers=1 + seed % 3, wild=seed == 4)
    first, second = random_values(rng, chip, 3), random_values(rng, chip, 2)
    emulator = DeltaEmulator(chip)
    with DeltaSimulator(chip, batch=3, spikes=True) as simulator:
        for values in (first, second):  # the second batch starts from rest
            found, expected = simulator.run(values), emulator.run(values, spikes=True)
            assert_same(replace(found, backend="emu", graph=""), expected)
