"""Obstacles to running on the chip: none at the limit, and one beyond it a message with a way out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.limits import CHIP_ATRLIF_THRESHOLD_MAX
from fsnn_lava.placement.obstacles import obstacles, possible_obstacles
from hw_tests.networks import one_neuron
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_delta import as_delta


@pytest.mark.parametrize(("threshold", "bits"), [(CHIP_ATRLIF_THRESHOLD_MAX + 1, 7), (4 * CHIP_ATRLIF_THRESHOLD_MAX, 6)])
def test_a_threshold_beyond_the_neurons_bits_is_refused_with_the_bits_that_fit(threshold, bits):
    assert obstacles(one_neuron(threshold=CHIP_ATRLIF_THRESHOLD_MAX)) == []
    (sentence,) = obstacles(one_neuron(threshold=threshold))
    assert f"this layer has {threshold}; export with --bits {bits}, or with --reset zero" in sentence


def test_a_threshold_per_channel_is_refused_for_every_layer_that_has_one():
    said = obstacles(conv_network(per_channel=True))
    assert [sentence.partition(":")[0] for sentence in said if "one threshold per layer" in sentence] == ["layer 'l1'", "layer 'l2'"]


def test_the_sum_of_a_sample_is_a_risk_from_the_step_at_which_it_can_overflow():
    """4228 * 31 = 131068 fits 131071, one step more does not."""
    chip = one_neuron(threshold=4228, steps=30)
    assert possible_obstacles(chip) == []
    (sentence,) = possible_obstacles(chip, steps=31)
    assert f"a neuron that fires at every step reaches {4228 * 32}; export with --bits 7" in sentence


def test_a_leak_is_a_risk_and_no_obstacle():
    leaky = one_neuron(threshold=10, decay=205)
    assert obstacles(leaky) == []
    assert "a leaky neuron that resets by subtraction may need a bias of more than 13 bits" in possible_obstacles(leaky)[0]


def test_delta_encoding_takes_a_static_input_and_may_need_a_wider_shift_than_lava_declares():
    chip = as_delta(dense_network(1))
    (sentence,) = obstacles(chip)
    assert "shifted right by 9 bits" in sentence and "with 3 bits, at most 7; export with --encoding rate" in sentence
    low = replace(chip, layers=tuple(replace(layer, threshold=np.array(128)) for layer in chip.layers))
    assert obstacles(low) == possible_obstacles(low) == []
    mixed = replace(low, layers=tuple(replace(layer, threshold=2 ** (1 + np.arange(layer.shape[0]) % 2)) for layer in low.layers))
    assert "one threshold per layer" in obstacles(mixed)[0]
    assert "only for a static input" in obstacles(as_delta(dense_network(1, kind="events")))[-1]
