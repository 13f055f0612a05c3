"""The rate map of an integer network against independent formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap, feedback_sources
from tests.helpers.chip_networks import conv_network, dense_network, skip_network


def pixels(chip: ChipNetwork, batch: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (batch, *chip.input.shape), dtype=np.uint8)


def test_drive_of_pixels_is_weights_times_pixels_plus_bias():
    chip = dense_network(exponent=-6)
    values = pixels(chip)
    by_hand = values.astype(np.int64) @ chip.synapses[0].weight.astype(np.int64).T / 64 + chip.layers[0].bias
    np.testing.assert_array_equal(RateMap(chip).drive(values)[0], by_hand)


def test_drive_rounds_down_where_the_chip_rounds_down():
    chip = dense_network(exponent=-9)  # units of 2**-9 are finer than a potential's 2**-6
    values = pixels(chip)
    by_hand = np.floor(values.astype(np.int64) @ chip.synapses[0].weight.astype(np.int64).T / 8) / 64 + chip.layers[0].bias
    np.testing.assert_array_equal(RateMap(chip).drive(values)[0], by_hand)


@pytest.mark.parametrize("decay", [0, 205])
def test_events_are_averaged_with_the_weights_of_the_leak(decay):
    chip = conv_network(kind="events", decay=decay)
    values = np.random.default_rng(2).integers(0, 3, (2, 6, *chip.input.shape), dtype=np.uint8)
    rate_map = RateMap(chip)
    leak = (4096 - decay) / 4096
    share = np.array([leak ** (6 - t) for t in range(1, 7)])
    share /= share.sum()
    each = [rate_map.apply_synapse(chip.synapses[0], values[:, t]) for t in range(6)]
    expected = sum(s * e for s, e in zip(share, each, strict=True)) + chip.layers[0].bias
    drive = rate_map.drive(values)
    np.testing.assert_allclose(drive[0], expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(drive[1], np.broadcast_to(chip.layers[1].bias, drive[1].shape))


@pytest.mark.parametrize(
    "chip", [dense_network(3), conv_network(4), conv_network(5, per_channel=True)], ids=["dense", "conv", "per channel"]
)
def test_the_equilibrium_maps_onto_itself_layer_by_layer(chip):
    rate_map, values = RateMap(chip), pixels(chip)
    point = rate_map.solve(values, tol=1e-9)
    if rate_map.gain() < 1:
        assert point.converged
    if point.converged:
        for before, after in zip(point.rates, rate_map.apply(point.rates, rate_map.drive(values)), strict=True):
            assert np.abs(before - after).max() <= 1e-9


def test_equilibrium_of_one_layer_inside_the_clamp_solves_the_linear_system():
    chip = dense_network(7)
    exact = np.random.default_rng(0).uniform(0.1, 0.9, (6, 5))
    drive = exact @ (700 * np.eye(5) - chip.feedback[0].weight).T
    point = RateMap(chip).solve_drive((drive,), tol=1e-11)
    assert point.converged
    np.testing.assert_allclose(point.rates[0], exact, rtol=0, atol=1e-9)


@pytest.mark.parametrize("chip", [dense_network(1), conv_network(1, per_channel=True)], ids=["dense", "conv"])
def test_gains_bound_how_much_rates_move(chip):
    rate_map, rng = RateMap(chip), np.random.default_rng(0)
    drive = rate_map.drive(pixels(chip, 8))
    one, two = (tuple(rng.random((8, *layer.shape)) for layer in chip.layers) for _ in range(2))
    moved = [
        np.linalg.norm((a - b).reshape(8, -1), axis=1) for a, b in zip(rate_map.apply(one, drive), rate_map.apply(two, drive), strict=True)
    ]
    apart = [np.linalg.norm((a - b).reshape(8, -1), axis=1) for a, b in zip(one, two, strict=True)]
    for row, move in zip(rate_map.gains(), moved, strict=True):
        assert np.all(move <= sum(g * d for g, d in zip(row, apart, strict=True)) + 1e-12)


def test_the_drive_of_a_layer_is_the_sum_of_all_its_inputs():
    chip = skip_network()
    extra = replace(chip.synapses[0], target="l3", exponent=-4)
    graph, values = replace(chip, synapses=(*chip.synapses, extra)), pixels(chip)
    alone, both = RateMap(chip).drive(values), RateMap(graph).drive(values)
    np.testing.assert_array_equal(both[0], alone[0])
    np.testing.assert_array_equal(both[2] - alone[2], RateMap(graph).apply_synapse(extra, values))


def test_several_loops_are_solved_for_the_sources_of_feedback():
    chip = skip_network()
    assert feedback_sources(chip) == [1, 2]
    calm = replace(chip, synapses=tuple(s if s.source == "input" else replace(s, exponent=-4) for s in chip.synapses))
    rate_map, values = RateMap(calm), pixels(chip)
    point = rate_map.solve(values, tol=1e-10)
    assert point.converged
    assert rate_map.residual(point.rates, rate_map.drive(values)).max() < 1e-8


def test_a_foreign_synapse_is_refused():
    with pytest.raises(BadArgument, match="does not belong"):
        RateMap(dense_network(0)).apply_synapse(dense_network(1).synapses[0], np.zeros((1, 7)))


def test_events_of_the_wrong_shape_are_refused():
    with pytest.raises(BadArgument, match=r"events must be \[B, T"):
        RateMap(conv_network(kind="events")).drive(np.zeros((2, 2, 6, 8), np.uint8))
