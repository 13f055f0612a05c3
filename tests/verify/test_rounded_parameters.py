"""The integers are the rounded parameters of the model: any that is not is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.verify import rounded_parameters
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.rounded_parameters import rounded_parameter_errors, shrink_factor
from tests.verify.test_float_network import model, pixels


def test_a_host_drive_that_is_not_the_models_is_found_in_the_first_layer():
    net = model("plain")
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, input="current")
    assert rounded_parameter_errors(chip, fold(net)).wrong == []
    other = replace(chip, host_drive=replace(chip.host_drive, bias=chip.host_drive.bias + 1e-6))
    assert rounded_parameter_errors(other, fold(net)).wrong == [
        {"layer": chip.layers[0].name, "what": "host drive: bias differs from the model's"}
    ]


def changed(chip: ChipNetwork, position: int, index: tuple[int, ...], by: int) -> ChipNetwork:
    synapse = chip.synapses[position]
    weight = synapse.weight.copy()
    weight[index] += by
    return replace(chip, synapses=(*chip.synapses[:position], replace(synapse, weight=weight), *chip.synapses[position + 1 :]))


@pytest.mark.parametrize("feedback", [False, True])
def test_one_weight_that_is_not_rounded_correctly_is_named(feedback):
    net = model("dense")
    values = pixels(net)
    right = fl.quantise(net, calibration=values)
    position = next(i for i, s in enumerate(right.synapses) if right.is_forward(s) != feedback)
    small = np.argwhere(np.abs(right.synapses[position].weight.astype(int)) < 60)[0]
    index = tuple(int(i) for i in small)
    chip = changed(right, position, index, 2)
    shift = compare(fl.run(chip, values), chip, values, model=net).check("shift")
    assert not shift.passed
    assert shift.numbers["off_grid"] == 1
    assert shift.offenders[0]["weight"] == list(index)
    assert str(right.synapses[position]) in shift.offenders[0]["what"]


def test_a_bias_and_a_threshold_that_are_not_rounded_correctly_are_named():
    net = model("dense")
    values = pixels(net)
    right = fl.quantise(net, calibration=values)
    layer = right.layers[0]
    bias = layer.bias.copy()
    bias[3] += 1
    for made, what in ((replace(layer, bias=bias), "bias of neuron (3,)"), (replace(layer, threshold=layer.threshold - 1), "threshold")):
        chip = replace(right, layers=(made,))
        shift = compare(fl.run(chip, values), chip, values, model=net).check("shift")
        assert not shift.passed
        assert what in shift.offenders[0]["what"]


def test_all_parameters_that_are_not_rounded_correctly_are_counted(monkeypatch):
    """More than those that are listed: many weights, and one threshold that all neurons share."""
    monkeypatch.setattr(rounded_parameters, "_LISTED", 5)
    net = model("dense")
    values = pixels(net)
    right = fl.quantise(net, calibration=values)
    layer = right.layers[0]
    weight = right.synapses[0].weight.astype(int)
    small = np.abs(weight) < 60
    assert np.count_nonzero(small) > 5
    moved = replace(right.synapses[0], weight=weight + 3 * small)
    chip = replace(right, layers=(replace(layer, threshold=layer.threshold - 1),), synapses=(moved, *right.synapses[1:]))
    shift = compare(fl.run(chip, values), chip, values, model=net).check("shift")
    assert shift.numbers["off_grid"] == np.count_nonzero(small) + 1
    assert f"{np.count_nonzero(small) + 1} parameters do not match" in shift.summary
    assert len(shift.offenders) == 5


def test_feedback_that_export_shrank_is_still_a_rounding():
    rng = np.random.default_rng(0)
    wanted = rng.normal(0, 30, (20, 20))
    assert shrink_factor(np.rint(wanted).astype(int), wanted) == 1.0
    shrunk = np.rint(0.97 * wanted).astype(int)
    factor = shrink_factor(shrunk, wanted)
    assert factor == pytest.approx(0.97, abs=5e-3)
    assert (np.abs(shrunk - factor * wanted) <= 0.5 + 1e-6).all()
    shrunk[4, 7] += 1  # and a single wrong weight does not hide behind the factor
    factor = shrink_factor(shrunk, wanted)
    assert np.argwhere(np.abs(shrunk - factor * wanted) > 0.5 + 1e-6).tolist() == [[4, 7]]
