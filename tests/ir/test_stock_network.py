"""How a network is converted for stock processes, in integers and without Lava."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import TransposedConvSynapse
from fsnn_lava.ir.space_to_depth import packed, space_to_depth, unpacked
from fsnn_lava.ir.stock_network import lower_to_stock, stock_equivalent, stock_network_mantissa, stock_network_weights
from fsnn_lava.limits import STOCK_BIAS_MANTISSA_MAX
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_simulator import simulate
from tests.helpers.paper_networks import paper_network
from tests.helpers.strategies import random_network, random_values

TRANSPOSED = [3, 15, 20, 24, 38, 54]  # seeds of networks whose grids divide


def _transposed(chip) -> bool:
    return any(isinstance(synapse, TransposedConvSynapse) for synapse in chip.synapses)


@pytest.mark.parametrize("seed", TRANSPOSED)
def test_a_folded_network_is_the_same_network(seed):
    rng = np.random.default_rng(seed)
    chip = random_network(rng, dense=False)
    values = random_values(rng, chip, 2)
    plain, factors = space_to_depth(chip)
    assert _transposed(chip)
    assert not _transposed(plain)
    before, after = simulate(chip, values), simulate(plain, values)
    for layer, ours, theirs in zip(chip.layers, before.spikes, after.spikes, strict=True):
        np.testing.assert_array_equal(ours, unpacked(theirs, layer.shape, factors[layer.name]))
    for layer, ours, theirs in zip(chip.layers, before.potentials, after.potentials, strict=True):
        np.testing.assert_array_equal(ours, unpacked(theirs, layer.shape, factors[layer.name]))
    np.testing.assert_array_equal(before.readout, after.readout)


def test_folding_is_undone():
    values = np.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6)
    there = packed(values, (3, 4, 6), (2, 3))
    assert there.shape == (2, 18, 2, 2)
    assert there[0, (1 * 3 + 2) * 3 + 1, 1, 0] == values[0, 1, 3, 2]  # phase (1, 2), channel 1, place (1, 0)
    np.testing.assert_array_equal(unpacked(there, (3, 4, 6), (2, 3)), values)


def test_alexnet_is_folded_where_its_feedback_needs_it():
    chip = paper_network("alexnet-f")
    lowered = lower_to_stock(chip)
    assert not _transposed(lowered.chip)
    assert [lowered.factors[layer.name] for layer in chip.layers] == [(2, 2), (2, 2), (1, 1), (1, 1), (1, 1)]
    assert stock_network_weights(lowered.chip) < stock_network_weights(chip)  # 13 million single weights of Sparse against shared ones


def test_a_transposed_convolution_that_cannot_be_folded_stays():
    rng = np.random.default_rng(1)
    chip = random_network(rng, dense=False)
    assert _transposed(lower_to_stock(chip).chip)


@pytest.mark.parametrize("kind", ["pixels", "events"])
def test_the_equivalent_network_fires_alike_where_nothing_is_rounded(kind):
    chip = dense_network(kind=kind)
    chip = replace(chip, synapses=tuple(replace(s, exponent=-3) for s in chip.synapses))
    values = random_values(np.random.default_rng(2), chip, 3) // 32  # so small that nothing is clipped in either unit
    made, said = stock_equivalent(chip)
    ours, theirs = simulate(chip, values), simulate(made, values)
    np.testing.assert_array_equal(ours.spikes[0], theirs.spikes[0])
    np.testing.assert_array_equal(ours.potentials[0] * 8, theirs.potentials[0])
    np.testing.assert_allclose(ours.logits, theirs.logits)
    assert any("8 times finer" in sentence for sentence in said)
    assert made.input.kind == ("events" if kind == "events" else "current")


def test_the_hosts_drive_is_rounded_finer_and_that_is_reported():
    chip = dense_network(kind="current")
    chip = replace(chip, synapses=tuple(replace(s, exponent=-3) for s in chip.synapses))
    made, said = stock_equivalent(chip)
    assert any("it changes by up to 1/2 old unit" in sentence for sentence in said)
    values = random_values(np.random.default_rng(2), chip, 3)
    drift = np.abs(input_current(chip, values) * 8 - input_current(made, values)).max()
    assert 0 < drift <= 8 * 32  # half of a former unit, in 2**-6 of the finer one


def test_pixels_are_rounded_to_whole_units_and_that_is_reported():
    chip = conv_network()
    made, said = stock_equivalent(chip)
    assert any("whole weight units, rounded by up to 1/2 unit" in sentence for sentence in said)
    assert made.host_drive is not None


def test_a_threshold_met_exactly_fires_in_both():
    chip = dense_network(kind="events", reset="zero")
    values = random_values(np.random.default_rng(3), chip, 4)
    made, said = stock_equivalent(chip)
    assert made.layers[0].strict
    assert int(made.layers[0].threshold) == int(chip.layers[0].threshold) - 1
    np.testing.assert_array_equal(simulate(chip, values).spikes[0], simulate(made, values).spikes[0])
    assert any("one unit lower; spikes are the same" in sentence for sentence in said)


def test_a_leak_with_subtraction_is_reported_to_differ():
    _, said = stock_equivalent(dense_network(decay=205))
    assert any("up to 70/64 unit" in sentence for sentence in said)


@pytest.mark.parametrize("seed", range(11))
def test_the_equivalent_of_an_equivalent_is_itself(seed):
    rng = np.random.default_rng(seed)
    chip = random_network(rng, layers=2)
    once, _ = stock_equivalent(chip)
    assert stock_equivalent(once)[0].digest() == once.digest()


def test_pixels_through_a_transposed_convolution_are_refused():
    chip = random_network(np.random.default_rng(11), layers=2)
    with pytest.raises(BadNetwork, match="do not support pixels through a transposed convolution; use the batched graph"):
        stock_equivalent(chip)


def test_a_threshold_too_large_for_finer_units_is_refused():
    chip = dense_network(kind="events")
    chip = replace(chip, synapses=tuple(replace(s, exponent=-9) for s in chip.synapses))
    with pytest.raises(BadNetwork, match=r"'l1': stock processes need weight units 512 times finer.*threshold 700 does not fit in 17 bits"):
        stock_equivalent(chip)


def test_a_bias_beyond_16_bits_is_rounded_and_reported():
    chip = dense_network(kind="events")
    layer = replace(chip.layers[0], bias=np.array([32767, 32768, 65539, -70001, 5]))
    made, said = stock_equivalent(replace(chip, layers=(layer,)))
    np.testing.assert_array_equal(made.layers[0].bias, [32767, 32768, 65540, -70000, 5])
    assert any("2 biases need more than 16 bits and are rounded, by up to 1 of 70001" in sentence for sentence in said)


def test_mantissas_fit_16_bits():
    value = np.array([0, 1, -STOCK_BIAS_MANTISSA_MAX, STOCK_BIAS_MANTISSA_MAX + 1, 2**23 - 1], dtype=np.int64)
    mant, exponent = stock_network_mantissa(value)
    assert np.abs(mant).max() <= STOCK_BIAS_MANTISSA_MAX
    np.testing.assert_array_equal(exponent, [0, 0, 0, 1, 9])
    assert np.abs((mant << exponent) - value).max() <= 2**8
