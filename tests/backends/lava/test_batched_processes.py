"""Network graphs on our own Lava processes: skips wait in a delay line, several loops, input into any layers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.lava.needs import needs_lava
from tests.helpers.chip_networks import skip_network
from tests.helpers.naive_delta import simulate_delta, with_random_delta
from tests.helpers.naive_simulator import assert_same, simulate
from tests.helpers.random_graphs import network_graphs, number_of_graphs, random_graph
from tests.helpers.strategies import random_values

needs_lava()

from fsnn_lava.backends.lava.delta_simulator import DeltaSimulator  # noqa: E402
from fsnn_lava.backends.lava.simulator import Simulator  # noqa: E402


@settings(max_examples=number_of_graphs(6))  # each starts a Lava runtime of its own, which takes seconds
@given(st.one_of(network_graphs(delta=False), network_graphs(delta=True)))
def test_any_graph_is_the_plain_reference_bit_by_bit(case):
    chip, values = case
    simulator = Simulator if chip.delta is None else DeltaSimulator
    expected = simulate(chip, values) if chip.delta is None else simulate_delta(chip, values)
    with simulator(chip, batch=len(values), spikes=True) as running:
        assert_same(running.run(values), expected)


@pytest.mark.parametrize(("seed", "kind", "decay"), [(11, "events", 205), (6, "pixels", 0)])
def test_a_random_graph_is_the_plain_reference_bit_by_bit_and_leaves_nothing_for_the_next_batch(seed, kind, decay):
    rng = np.random.default_rng(seed)
    chip = random_graph(rng, layers=5, feedbacks=3, skips=4, kind=kind, decay=decay)
    assert max(chip.chip_delay(s) for s in chip.synapses) > 2 and len(chip.feedback) == 3
    with Simulator(chip, batch=2, spikes=True) as simulator:
        for _ in range(2):
            values = random_values(rng, chip, 2)
            assert_same(simulator.run(values), simulate(chip, values))


def test_a_random_graph_with_delta_encoding():
    rng = np.random.default_rng(3)
    chip = random_graph(rng, layers=5, feedbacks=2, skips=4, kind="pixels", reset="subtract", strict=False)
    chip = with_random_delta(rng, chip)
    assert max(chip.chip_delay(s) for s in chip.synapses if s.source != "input") > 1
    values = random_values(rng, chip, 2)
    with DeltaSimulator(chip, batch=2, spikes=True) as simulator:
        result, expected = simulator.run(values), simulate_delta(chip, values)
    assert_same(result, expected)


def test_a_skip_and_two_loops():
    chip = skip_network(2, steps=9)
    values = np.random.default_rng(1).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    with Simulator(chip, batch=3, spikes=True) as simulator:
        assert_same(simulator.run(values), simulate(chip, values))
