"""Delta encoding with Lava's own sigma-delta neurons: every message and state is the reference's, and how far that is from E15."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.delta_encoding import Activation
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.stock_delta import stock_delta_differences
from fsnn_lava.ir.stock_network import lower_to_stock
from fsnn_lava.verify.message_reference import MessageReference
from tests.backends.emulator.test_delta import pixels, toy
from tests.backends.lava.needs import needs_lava
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_delta import as_delta, simulate_delta, with_random_delta
from tests.helpers.naive_simulator import assert_same
from tests.helpers.random_graphs import random_graph
from tests.helpers.strategies import random_values

needs_lava()

from fsnn_lava.backends.lava import stock_simulator  # noqa: E402
from fsnn_lava.backends.lava.stock_delta_graph import StockDeltaGraph  # noqa: E402
from fsnn_lava.backends.lava.stock_simulator import StockSimulator  # noqa: E402
from tests.helpers.lava_threads import ThreadSession  # noqa: E402


@pytest.fixture
def _threads(monkeypatch):
    monkeypatch.setattr(stock_simulator, "Session", ThreadSession)


def stock_graph(seed: int, kind: str, activation: Activation) -> ChipNetwork:
    """A random graph with one threshold per layer, so large that what a message adds stays below 2**24: Lava's Conv is in float32."""
    rng = np.random.default_rng(seed)
    shape = {"layers": int(rng.integers(1, 5)), "feedbacks": int(rng.integers(0, 4)), "skips": int(rng.integers(0, 4))}
    chip = with_random_delta(rng, random_graph(rng, kind=kind, reset="subtract", strict=False, **shape), activation=activation)
    return replace(chip, layers=tuple(replace(layer, threshold=np.array(2**10)) for layer in chip.layers))


def assert_equal(got: fl.Result, expected: fl.Result) -> None:
    """The same, except for what the reference does not compute."""
    assert_same(got, replace(expected, operations=got.operations, updates=got.updates, cycles=got.cycles))


@pytest.mark.usefixtures("_threads")
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["pixels", "current"]), activation=st.sampled_from(["clip", "relu"]))
def test_a_random_graph_is_the_reference_bit_by_bit(seed, kind, activation):
    chip = stock_graph(seed, kind, activation)
    values = random_values(np.random.default_rng(seed), chip, 1)
    got = StockSimulator(chip, steps=chip.steps, spikes=True).run(values)
    assert_equal(got, MessageReference(chip, stock=True).run(values, steps=chip.steps, spikes=True))


def without_lost_bits(seed: int) -> ChipNetwork:
    """Weights, biases and inputs in whole rates, so that Lava's shift drops nothing, and rates that stay below 1."""
    chip = as_delta(dense_network(seed, size=5), rate_bits=8, band=3)
    layers = tuple(replace(layer, threshold=np.array(1), bias=np.zeros_like(layer.bias)) for layer in chip.layers)
    synapses = [
        replace(
            s, weight=np.eye(*s.weight.shape, dtype=int) if s.source == "input" else -np.eye(*s.weight.shape, dtype=int)[::-1], exponent=e
        )
        for s, e in zip(chip.synapses, (-8 + 2, 0), strict=True)
    ]
    return replace(chip, layers=layers, synapses=tuple(synapses), steps=7)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("seed", range(3))
def test_without_lost_bits_and_rates_above_one_it_is_the_emulator_bit_by_bit(seed):
    chip = without_lost_bits(seed)
    values = np.random.default_rng(seed).integers(0, 60, (2, *chip.input.shape), dtype=np.uint8)  # rates below 60 / 64
    expected = simulate_delta(chip, values)
    assert 0 < max(float(rate.max()) for rate in expected.rates) < 1
    assert_same(StockSimulator(chip, steps=chip.steps, spikes=True).run(values), expected)


def relu_graph_without_lost_bits(seed: int) -> ChipNetwork:
    """A random graph of ReLUs whose sums are multiples of the threshold, 2**9: weights of 0 and +-1 times that."""
    rng = np.random.default_rng(seed)
    shape = {"layers": int(rng.integers(1, 5)), "feedbacks": int(rng.integers(0, 4)), "skips": int(rng.integers(0, 4))}
    chip = random_graph(rng, kind="pixels", reset="subtract", strict=False, **shape)
    layers = tuple(replace(layer, bias=layer.bias // 2 * 2) for layer in chip.layers)
    synapses = tuple(
        replace(s, weight=np.sign(s.weight) * (rng.random(s.weight.shape) < 0.2), exponent=1 if s.source == "input" else 9)
        for s in chip.synapses
    )
    chip = replace(chip, layers=layers, synapses=synapses, readout=replace(chip.readout, exponent=0))
    return as_delta(chip, rate_bits=8, band=2, activation="relu")


@pytest.mark.usefixtures("_threads")
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_random_graph_of_relus_without_lost_bits_is_the_emulator_bit_by_bit(seed):
    chip = relu_graph_without_lost_bits(seed)
    assert stock_delta_differences(chip) == []
    values = np.random.default_rng(seed).integers(0, 256, (1, *chip.input.shape), dtype=np.uint8)
    expected = simulate_delta(chip, values, steps=4)
    assume(not expected.clip_count.any())
    assert_same(StockSimulator(chip, steps=4, spikes=True).run(values), expected)
    assert_same(fl.run(chip, values, steps=4, spikes=True), expected)


@pytest.mark.usefixtures("_threads")
def test_a_rate_above_one_takes_two_neurons_and_a_transposed_convolution_is_packed():
    chip = as_delta(conv_network(2), rate_bits=8, band=2)
    values = random_values(np.random.default_rng(1), chip, 1)
    got = StockSimulator(chip, steps=6, spikes=True).run(values)
    assert_equal(got, MessageReference(chip, stock=True).run(values, steps=6, spikes=True))
    exact = simulate_delta(chip, values, steps=6)
    assert any((rate == 1.0).any() for rate in exact.rates)
    assert sum(int(c.sum()) for c in got.counts) > sum(int(c.sum()) for c in exact.counts)


def test_a_real_run_is_judged_by_the_comparator():
    chip, values = toy(3, band=2, steps=5), pixels((20, 0), (255, 3))
    result = fl.run(chip, values, backend="sim", graph="stock", spikes=True)
    assert result.graph == "stock"
    verdict = fl.compare(result, chip, values)
    assert verdict.faithful, verdict.to_text()
    broken = replace(result, traces=tuple(trace + 1 for trace in result.traces))
    assert not fl.compare(broken, chip, values).faithful


def test_a_rate_network_events_and_thresholds_per_channel_are_refused():
    sample = np.zeros(7, np.uint8)
    with pytest.raises(BadArgument, match="uses rate coding; use StockGraph"):
        StockDeltaGraph(lower_to_stock(dense_network(1)), sample, None, steps=3)
    chip = as_delta(dense_network(1))
    layer = replace(chip.layers[0], threshold=2 ** (1 + np.arange(chip.layers[0].shape[0]) % 2))
    events = as_delta(dense_network(1, kind="events"))
    with pytest.raises(BadNetwork, match="does not support event input; use the batched graph"):
        StockDeltaGraph(lower_to_stock(events), np.zeros((3, 7), np.uint8), None, steps=3)
    with pytest.raises(BadNetwork, match="have one threshold per layer; use the batched graph"):
        StockDeltaGraph(lower_to_stock(replace(chip, layers=(layer, *chip.layers[1:]))), sample, None, steps=3)
