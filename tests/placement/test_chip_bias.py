"""Biases of 13 bits with an exponent: which numbers the chip represents exactly, and what is reported for the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.ir.stock_network import stock_equivalent
from fsnn_lava.placement.chip_bias import bias_obstacle, constant_bias_obstacles, sample_bias_obstacle, split_bias, written_bias
from fsnn_lava.placement.obstacles import obstacles
from hw_tests.networks import one_neuron, with_synapse


def test_numbers_of_13_bits_times_a_power_of_two_are_held_exactly():
    held = np.array([0, 1, -4095, 4095, 4096, 8190, -8190, 4095 << 7])
    lost = np.array([4097, -8191, (4095 << 7) + 1, 4096 << 7])
    mantissa, exponent, wrong = split_bias(held)
    assert not wrong.any()
    np.testing.assert_array_equal(mantissa << exponent, held)
    assert split_bias(lost)[2].all()


def test_what_is_written_to_a_leaky_neuron_that_subtracts_is_less_by_the_leak_of_its_offset():
    layer = one_neuron(threshold=10, decay=1024).layers[0]
    assert written_bias(layer, np.array([640])).tolist() == [640 - 80]  # a quarter of half the threshold, 640
    assert written_bias(replace(layer, reset="zero"), np.array([640])).tolist() == [640]


@pytest.mark.parametrize(("units", "held"), [(4095, True), (4096, True), (4097, False), (8190, True), (8191, False)])
def test_a_bias_is_refused_in_the_layer_that_has_it(units, held):
    layer = replace(one_neuron(threshold=10).layers[0], bias=np.array([units]))
    sentence = bias_obstacle(layer, layer.bias.astype(np.int64) << 6)
    assert (sentence == "") is held
    assert held or f"1 neurons need more, up to {units * 64}/64 weight units" in sentence
    assert held or sentence.startswith("layer 'l1': the chip stores a bias as 13 bits with an exponent of at most 7; ")


def test_layers_are_judged_by_their_bias_and_the_first_by_that_of_a_blank_input():
    chip = with_synapse("dense")
    second = replace(chip.layers[1], bias=np.array([3, 4097, -5000, 4101]))
    network, _ = stock_equivalent(replace(chip, layers=(chip.layers[0], second)))
    (sentence,) = constant_bias_obstacles(network)
    assert "layer 'l2': the chip stores a bias as 13 bits with an exponent of at most 7; 2 neurons need more, up to 262464/64" in sentence
    assert constant_bias_obstacles(stock_equivalent(chip)[0]) == []


def test_samples_are_judged_one_by_one():
    network, _ = stock_equivalent(one_neuron(threshold=10, bias=4000))
    assert sample_bias_obstacle(network, np.array([[0], [95], [96]], np.uint8)) == ""
    assert "1 neurons need more, up to 262208/64" in sample_bias_obstacle(network, np.array([[95], [98], [97]], np.uint8))  # 4098 fits


def test_a_leaky_neuron_whose_bias_is_odd_and_large_cannot_run():
    assert obstacles(one_neuron(threshold=100, decay=205, bias=70)) == []  # 70 * 64 - 160 = 2 * 2160
    (sentence,) = obstacles(one_neuron(threshold=102, decay=205, bias=70))  # 70 * 64 - 163 = 4317
    assert "export with fewer bits, or with --reset zero" in sentence
