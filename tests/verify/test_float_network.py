"""The comparator with the float network: its own spikes, the shift of the equilibrium, and whether the integers are its rounding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.quantise import quantise_in_full
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.rounded_parameters import rounded_parameter_errors
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
    without_a_loop = [] if chip.feedback else ["certificate"]
    assert [check.name for check in verdict.checks if not check.done] == without_a_loop
    assert verdict.check("accuracy").numbers["accuracy"] == 1.0
    assert verdict.check("shift").numbers["off_grid"] == 0


def test_per_channel_scales_are_roundings_too():
    net = model("conv")
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, per_channel=True, bits=4)
    assert rounded_parameter_errors(chip, fold(net)).wrong == []


def test_event_sequences_are_averaged_with_the_chips_own_leak():
    net = model("dense", leak=0.95)
    events = (np.random.default_rng(3).random((4, 20, 7)) < 0.4).astype(np.uint8)
    chip = fl.quantise(net, calibration=events)
    verdict = compare(fl.run(chip, events), chip, events, model=net)
    assert verdict.passed, verdict.to_text()


def test_a_model_of_other_shape_is_refused():
    net = model("dense")
    values = pixels(net)
    chip = fl.quantise(net, calibration=values)
    with pytest.raises(BadArgument, match="do not belong together"):
        compare(fl.run(chip, values), chip, values, model=model("plain"))


def test_a_shrunk_network_passes():
    for seed in range(12):
        net = model("dense", seed=seed, limit=1.0)
        with torch.no_grad():
            net.feedback.alpha.fill_(1.0)
        net.vth = float(1.0 / 0.9995)  # gain 0.9995: rounding to 3 bits will break it
        values = pixels(net)
        made = quantise_in_full(net, calibration=values, bits=3)
        if made.shrunk < 1.0:
            assert rounded_parameter_errors(made.chip, fold(net)).wrong == []
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
    assert not accuracy.ok
    assert 2 in [o["sample"] for o in accuracy.offenders]
    assert accuracy.numbers["agreement"] <= 5 / 6
