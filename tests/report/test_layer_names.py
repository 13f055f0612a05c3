"""Layers and neurons as a reader knows them."""

from __future__ import annotations

import numpy as np

from fsnn_lava.report.layer_names import layer_kind_name, layer_title, neuron_name_in_layer
from tests.helpers.chip_networks import dense_network
from tests.helpers.report_case import digits_case


def test_a_layer_is_named_by_its_kind_and_size():
    chip = digits_case().chip
    assert [layer_title(chip, layer) for layer in chip.layers] == ["l1 · conv 6, 8 × 8", "l2 · conv 5, 4 × 4"]
    dense = dense_network(2, size=6)
    assert layer_kind_name(dense, dense.layers[0]) == "dense 6"


def test_a_neuron_is_named_by_its_place():
    layer = digits_case().chip.layers[1]
    index = int(np.ravel_multi_index((3, 1, 2), layer.shape))
    assert neuron_name_in_layer(layer, index) == "channel 3, row 1, column 2"
    assert neuron_name_in_layer(dense_network(2, size=6).layers[0], 4) == "neuron 4"
