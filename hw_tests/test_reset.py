"""No sample affects the next one."""

from __future__ import annotations

import numpy as np
import pytest

from hw_tests.networks import ring, with_synapse
from hw_tests.test_synapses import assert_same


@pytest.mark.parametrize("kind", ["dense", "conv"])
def test_a_sample_gives_the_same_whatever_its_position(target, kind):
    chip = with_synapse(kind, seed=3)
    values = np.random.default_rng(1).integers(0, 256, (2, *chip.input.shape), dtype=np.uint8)
    alone = target.run(chip, values[:1])
    among = target.run(chip, values[[1, 0, 1, 0]])
    assert_same(among.part(slice(1, 2)), alone)
    assert_same(among.part(slice(3, 4)), alone)


def test_a_spike_in_flight_does_not_reach_the_next_sample(target):
    # T = 8 and N = 3: the echo at tau = 7 is still on its way when the window ends
    events = np.zeros((3, 8, 1), dtype=np.uint8)
    events[0, 0] = 1
    result = target.run(ring(3, steps=8), events)
    assert result.counts[0].reshape(-1).tolist() == [3, 0, 0]
