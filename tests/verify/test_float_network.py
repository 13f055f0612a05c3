"""The comparator with the float network beside it: its own spikes, the shift of the equilibrium, and whether integers round floats."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.quantise import quantise_in_full
from fsnn_lava.verify.checks.shift import ShiftCheck
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.float_network import FloatNetwork
from fsnn_lava.verify.rounded_parameters import rounding_errors, shrink_factor
from fsnn_lava.verify.thresholds import Thresholds

TEXTS = {"dense": ("9 (F9)", (7,)), "conv": ("4C3s-5C3 (F4C3)", (2, 6, 8)), "plain": ("6-5", (7,))}


def model(name: str, *, leak: float = 1.0, seed: int = 0, limit: float = 1.0) -> fl.FSNN:
    torch.manual_seed(seed)
    text, shape = TEXTS[name]
    neuron = fl.IF() if leak == 1.0 else fl.LIF(leak)
    net = fl.FSNN(text, input_shape=shape, classes=4, neuron=neuron, vth=2.0, steps=20, limit=limit, normalisation=fl.Normalisation(255.0))
    for stage in net.stages:  # statistics and offsets as after training, so that folding has something to do
        norm = stage.norm
        norm.running_mean.uniform_(-0.2, 0.2)
        norm.running_var.uniform_(0.2, 0.6)
        with torch.no_grad():
            norm.weight.uniform_(0.5, 1.5)
            norm.bias.uniform_(-0.3, 0.9)
    return net.eval()


def pixels(net: fl.FSNN, samples: int = 5) -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).integers(0, 256, (samples, *net.architecture.input_shape), dtype=np.uint8)


@pytest.mark.parametrize("leak", [1.0, 0.95])
@pytest.mark.parametrize("name", sorted(TEXTS))
@pytest.mark.parametrize("input", ["pixels", "current"])
def test_an_exported_network_passes_every_check(name, leak, input):
    net = model(name, leak=leak)
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, input=input)
    result = fl.run(chip, values)
    verdict = compare(result, chip, values, labels=result.predictions, model=net)
    assert verdict.passed, verdict.to_text()
    assert all(check.done for check in verdict.checks)
    assert verdict.check("accuracy").numbers["accuracy"] == 1.0
    assert verdict.check("shift").numbers["off_grid"] == 0


def test_per_channel_scales_are_roundings_too():
    net = model("conv")
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, per_channel=True, bits=4)
    assert rounding_errors(chip, fold(net)).wrong == []


def test_event_sequences_are_averaged_with_the_chips_own_leak():
    net = model("dense", leak=0.95)
    events = (np.random.default_rng(3).random((4, 20, 7)) < 0.4).astype(np.uint8)
    chip = fl.quantise(net, calibration=events)
    verdict = compare(fl.run(chip, events), chip, events, model=net)
    assert verdict.passed, verdict.to_text()


def test_the_shift_keeps_its_bound_and_uses_some_of_it():
    net = model("dense", limit=0.5)
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, bits=3)
    numbers = compare(fl.run(chip, values), chip, values, model=net).check("shift").numbers
    assert numbers["shift_max"] > 0
    assert 0 < numbers["share_of_bound"] <= 1
    failed = compare(fl.run(chip, values), chip, values, model=net, thresholds=Thresholds(shift_max=numbers["shift_max"] / 2)).failed
    assert [check.name for check in failed] == ["shift"]


def test_a_shift_as_large_as_its_limit_is_allowed():
    """Two layers, three samples; in the third one rate of the second layer moved by 1/2."""
    net = model("plain")
    values = pixels(net, 3)
    chip = fl.quantise(net, calibration=values)
    rate_map = RateMap(chip)
    still = tuple(np.zeros((3, *layer.shape)) for layer in chip.layers)
    moved = (still[0], still[1].copy())
    moved[1][2, 0] = 0.5
    for limit, samples in ((0.25, [12]), (0.5, [])):
        check = ShiftCheck(chip, FloatNetwork(net, chip), rate_map, SimpleNamespace(certified=False), Thresholds(shift_max=limit))
        batch = SimpleNamespace(sample=lambda row: 10 + row)
        check.add(batch, Equilibria(moved, np.zeros(3)), Equilibria(still, np.zeros(3)), rate_map.drive(values))
        assert [o["sample"] for o in check.offenders] == samples
        assert check.check().passed == (not samples)


def changed(chip: ChipNetwork, position: int, index: tuple[int, ...], by: int) -> ChipNetwork:
    synapse = chip.synapses[position]
    weight = synapse.weight.copy()
    weight[index] += by
    return replace(chip, synapses=(*chip.synapses[:position], replace(synapse, weight=weight), *chip.synapses[position + 1 :]))


@pytest.mark.parametrize("feedback", [False, True])
def test_one_weight_that_is_no_rounding_is_named(feedback):
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


def test_a_bias_and_a_threshold_that_are_no_rounding_are_named():
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


def test_a_network_of_another_model_fails_the_shift():
    net, other = model("dense"), model("dense", seed=1)
    values = pixels(net)
    chip = fl.quantise(other, calibration=values)
    verdict = compare(fl.run(chip, values), chip, values, model=net)
    assert [check.name for check in verdict.failed] == ["shift"]


def test_a_model_of_other_shape_is_refused():
    net = model("dense")
    values = pixels(net)
    chip = fl.quantise(net, calibration=values)
    with pytest.raises(BadArgument, match="do not belong together"):
        compare(fl.run(chip, values), chip, values, model=model("plain"))


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


def test_a_shrunk_network_passes():
    for seed in range(12):
        net = model("dense", seed=seed, limit=1.0)
        with torch.no_grad():
            net.feedback.alpha.fill_(1.0)
        net.vth = float(1.0 / 0.9995)  # gain 0.9995: rounding to 3 bits will break it
        values = pixels(net)
        made = quantise_in_full(net, calibration=values, bits=3)
        if made.shrunk < 1.0:
            assert rounding_errors(made.chip, fold(net)).wrong == []
            return
    pytest.skip("no network of these needed shrinking")


def test_the_float_link_is_judged_by_itself():
    """Float spikes meet E11 whatever the backend did."""
    net = model("conv")
    values = pixels(net)
    chip = fl.quantise(net, calibration=values)
    result = fl.run(chip, values)
    broken = replace(result, potentials=tuple(u + 1 for u in result.potentials))
    verdict = compare(broken, chip, values, model=net)
    assert not verdict.check("charge").passed
    check = verdict.check("float")
    assert check.passed
    assert 0 < check.numbers["residual_max"] <= check.numbers["bound_max"]


def test_agreement_counts_samples_on_which_the_float_network_says_the_same():
    net = model("dense")
    values = pixels(net, 6)
    chip = fl.quantise(net, calibration=values)
    result = fl.run(chip, values)
    readout = result.readout.copy()
    readout[2] = -readout[2]  # turns the order around
    accuracy = compare(replace(result, readout=readout), chip, values, model=net, thresholds=Thresholds(agreement_min=1.0)).check(
        "accuracy"
    )
    assert not accuracy.passed
    assert 2 in [o["sample"] for o in accuracy.offenders]
    assert accuracy.numbers["agreement"] <= 5 / 6
