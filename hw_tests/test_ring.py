"""A spike that goes around N layers comes back after N steps."""

from __future__ import annotations

import numpy as np
import pytest

from hw_tests.networks import ring


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
def test_one_event_echoes_every_n_steps_in_every_layer(target, layers):
    steps = 12
    events = np.zeros((1, steps, 1), dtype=np.uint8)
    events[0, 0] = 1
    result = target.run(ring(layers, steps=steps), events)
    spikes = [tau for tau in range(1, steps + 1) if (tau - 1) % layers == 0]  # each layer in its own time
    assert [c.item() for c in result.counts] == [len(spikes)] * layers
    assert result.late[0].item() == sum(tau > steps - layers for tau in spikes)
    assert [p.item() for p in result.potentials] == [0] * layers
    assert result.readout[0, 0] == 64 * len(spikes)


def test_without_an_event_the_ring_is_silent(target):
    result = target.run(ring(3, steps=12), np.zeros((1, 12, 1), dtype=np.uint8))
    assert [c.item() for c in result.counts] == [0, 0, 0]
