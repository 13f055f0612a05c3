"""Flat indices in C order, and the first neurons of a batch row by row."""

from __future__ import annotations

import numpy as np

from fsnn_lava.verify.neuron_index import first_neurons, neuron_index
from tests.helpers.chip_networks import conv_network


def test_a_flat_index_counts_columns_first():
    layer = conv_network(1).layers[0]
    _, height, width = layer.shape
    assert neuron_index(layer, 0) == [0, 0, 0]
    assert neuron_index(layer, height * width + width + 2) == [1, 1, 2]


def test_the_first_neurons_come_sample_by_sample():
    mask = np.zeros((3, 2, 4), bool)
    mask[1, 1, 0] = mask[1, 0, 3] = mask[2, 0, 0] = True
    assert list(first_neurons(mask, 5)) == [(1, 3), (1, 4), (2, 0)]
    assert list(first_neurons(mask, 2)) == [(1, 3), (1, 4)]
    assert list(first_neurons(mask, 0)) == list(first_neurons(mask, -1)) == []
