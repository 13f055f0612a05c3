"""What differs with Lava's own sigma-delta neurons, and by how much at most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.ir.network import DeltaEncoding
from fsnn_lava.ir.stock_delta import dead_band_tolerance, stock_delta_differences, stock_delta_shift
from fsnn_lava.ir.stock_network import stock_equivalent
from fsnn_lava.verify.bounds.delta_sums import rates_of_delta_sums
from fsnn_lava.verify.message_reference import MessageReference
from tests.backends.emulator.test_delta import pixels, toy
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_delta import random_delta_network
from tests.helpers.strategies import random_values


def test_the_differences_are_said_for_every_layer():
    chip = toy(1, band=16)
    pair, dropped = stock_delta_differences(chip)
    assert "up to 0.5 instead of 0.25" in pair
    assert "drops the bits below 2**-6" in dropped
    assert stock_equivalent(chip) == (chip, [pair, dropped])
    assert stock_delta_differences(dense_network(1)) == []


def test_whole_rates_drop_nothing():
    chip = toy(1)
    layer = replace(chip.layers[0], threshold=np.array(1))
    assert len(stock_delta_differences(replace(chip, layers=(layer,)))) == 1
    relu = replace(chip.delta, activation="relu")
    whole = replace(chip.layers[0], threshold=np.array(512), bias=512 * np.ones_like(chip.layers[0].bias))
    synapses = tuple(replace(s, exponent=9) for s in chip.synapses)
    assert stock_delta_differences(replace(chip, layers=(whole,), synapses=synapses, delta=relu)) == []
    assert stock_delta_shift(layer) == 0 and stock_delta_shift(chip.layers[0]) == 2


@pytest.mark.parametrize("seed", range(12))
def test_what_a_pair_last_sent_is_within_its_tolerance_of_the_rate(seed):
    rng = np.random.default_rng(seed)
    chip = random_delta_network(rng)
    delta = chip.delta
    assert isinstance(delta, DeltaEncoding)
    values = random_values(rng, chip, 3)
    result = MessageReference(chip, stock=True).run(values)
    from fsnn_lava.verify.batch import Batch

    batch = Batch(chip=chip, result=result, values=values, labels=None, offset=0)
    for index, layer in enumerate(chip.layers):
        off = np.abs(rates_of_delta_sums(batch, layer) - result.traces[index])
        within = off < dead_band_tolerance(delta, index, result.counts[index])
        assert within[result.clipped[index] == 0].all()


def test_a_dropped_bit_per_message_and_two_dead_bands():
    clipped = DeltaEncoding(rate_bits=8, dead_bands=(1, 5))
    assert dead_band_tolerance(clipped, 1, np.array([0, 3])).tolist() == [11, 14]
    assert dead_band_tolerance(replace(clipped, activation="relu"), 1, np.array([0, 3])).tolist() == [6, 9]
    assert np.abs(MessageReference(toy(1, band=3), stock=True).run(pixels((20, 0))).traces[0]).max() > 0
