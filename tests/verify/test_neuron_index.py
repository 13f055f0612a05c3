"""Flat indices in C order, the first neurons of a batch row by row, and how an offender names its neuron."""

from __future__ import annotations

import numpy as np

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.verify.neuron_index import first_neuron_indices, neuron_index, neuron_offender
from tests.helpers.chip_networks import conv_network


def clip(chip: ChipNetwork, sample: int, position: int, flat: int | None = None):
    return neuron_offender(chip, sample, position, flat, kind="clip", what="clipped")


def test_a_flat_index_counts_columns_first():
    layer = conv_network(1).layers[0]
    _, height, width = layer.shape
    assert neuron_index(layer, 0) == [0, 0, 0]
    assert neuron_index(layer, height * width + width + 2) == [1, 1, 2]


def test_the_first_neurons_come_sample_by_sample():
    mask = np.zeros((3, 2, 4), bool)
    mask[1, 1, 0] = mask[1, 0, 3] = mask[2, 0, 0] = True
    assert list(first_neuron_indices(mask, 5)) == [(1, 3), (1, 4), (2, 0)]
    assert list(first_neuron_indices(mask, 2)) == [(1, 3), (1, 4)]
    assert list(first_neuron_indices(mask, 0)) == list(first_neuron_indices(mask, -1)) == []


def test_an_offender_names_a_neuron_a_layer_or_a_class():
    chip = conv_network(1)
    _, height, width = chip.layers[1].shape
    inner, layer, readout = clip(chip, 3, 1, height * width + 2), clip(chip, 3, 1), clip(chip, 3, len(chip.layers), 2)
    assert inner == {"sample": 3, "position": 1, "layer": "l2", "neuron": [1, 0, 2], "kind": "clip", "what": "clipped"}
    assert "neuron" not in layer and layer["layer"] == "l2"
    assert (readout["layer"], readout["neuron"]) == ("readout", [2])
