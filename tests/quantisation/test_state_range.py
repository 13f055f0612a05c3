"""What one step can add to a neuron, and whether it fits in 24 bits."""

from __future__ import annotations

import itertools

import numpy as np

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.quantisation.state_range import check_state_range, state_range_bounds
from tests.helpers.chip_networks import conv_network, dense_network


def test_what_one_step_can_add_is_found_exactly():
    chip = dense_network(3, inputs=3, size=2)
    values = np.array(list(itertools.product([0, 255], repeat=3)), dtype=np.uint8)
    spikes = np.array(list(itertools.product([0, 1], repeat=2)))
    rate_map = RateMap(chip)
    each = rate_map.drive(values)[0][:, None] + rate_map.apply_synapse(chip.feedback[0], spikes)[None]
    bound = state_range_bounds(chip)[0]
    assert bound.lowest == each.min()
    assert bound.highest == each.max()


def test_what_one_step_can_add_knows_about_padding():
    chip = conv_network(2)
    bound = state_range_bounds(chip, message_max=3)[0]
    weight = np.abs(chip.synapses[0].weight.astype(np.int64)).sum(axis=(1, 2, 3)).max() * 3 / 64
    assert bound.highest <= weight + 9 * 127 * 4 + 200
    check_state_range(chip)
