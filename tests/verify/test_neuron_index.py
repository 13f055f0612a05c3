"""Flat indices in C order, the first neurons of a batch row by row, and how an offender names its neuron."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.verify.check import OFFENDERS_KEPT
from fsnn_lava.verify.checks.charge import ChargeCheck
from fsnn_lava.verify.checks.sums import SumsCheck
from fsnn_lava.verify.neuron_index import by_place, first_layer, first_neuron_indices, neuron_index, neuron_offender
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


def test_samples_come_before_layers():
    chip = conv_network(1)
    places = [(1, 0), (0, 1), (0, 0)]
    assert [by_place(one) for one in sorted((clip(chip, *place) for place in places), key=by_place)] == sorted(places)


@pytest.mark.parametrize(("check", "found"), [(ChargeCheck, "charge is not conserved in 1 of"), (SumsCheck, "is wrong in 1 of")])
def test_clips_that_fill_the_list_do_not_hide_a_violation(check, found):
    """Only the first offenders are kept, and those of an earlier sample come first, so none of the right kind may be left."""
    chip = conv_network(1)
    full = check(chip)
    full.violated, full.offenders = 1, [clip(chip, 0, 0, flat) for flat in range(OFFENDERS_KEPT)]
    outcome = full.check()
    assert not outcome.passed and found in outcome.summary and "the first is in layer" not in outcome.summary
    assert first_layer([clip(chip, 0, 1)], "clip") == "; the first is in layer 'l2'"
