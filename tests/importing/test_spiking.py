"""Networks of spiking neurons: what is measured becomes thresholds, one leak and recurrent connections, and the spikes are equal."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import fsnn_lava as fl
from fsnn_lava.importing.sources import known
from tests.helpers.made_neurons import Made, MadeFramework


@pytest.fixture(autouse=True)
def made_framework(monkeypatch):
    monkeypatch.setattr(known, "FRAMEWORKS", (MadeFramework(),))


def imported(*modules, shape=(6,), samples=5, steps=15):
    torch.manual_seed(2)
    net = nn.Sequential(*modules).double()
    values = 1.5 * torch.rand(samples, *shape, dtype=torch.float64)
    return fl.from_torch(net, input_shape=shape, calibration=values, steps=steps)


def dense(inputs, outputs):
    torch.manual_seed(inputs)
    return nn.Linear(inputs, outputs)


def test_neurons_that_do_what_ours_do_keep_threshold_and_leak():
    net = imported(dense(6, 8), Made(leak=0.8, theta=0.5), dense(8, 3), Made(leak=0.8, theta=2.0))
    assert net.vths == (0.5, 2.0) and net.neuron == fl.LIF(0.8) and net.feedbacks == ()
    said = net.metrics["imported"]
    assert said.startswith("measured with Made ")
    assert "l1, l2 subtracts θ before the leak, spikes at u >= θ, keeps 0.8 of u per step, without delay; equal spikes in float64" in said


def test_a_gain_of_the_input_is_part_of_the_threshold():
    assert imported(dense(6, 8), Made(gain=0.25, theta=0.5)).vths == (2.0,)


def test_subtraction_after_the_leak_is_a_connection_of_each_neuron_to_itself():
    net = imported(dense(6, 8), Made(reset="after", leak=0.75, theta=2.0), dense(8, 3))
    (weight,) = net.feedback_weights()
    torch.testing.assert_close(weight.detach(), -0.5 * torch.eye(8, dtype=torch.float64), rtol=0, atol=1e-11)  # (1 - leak) theta


def test_in_a_convolutional_layer_it_is_a_depthwise_one():
    net = imported(nn.Conv2d(1, 3, 3, padding=1), Made(reset="after", leak=0.75), nn.Flatten(), dense(48, 2), shape=(1, 4, 4))
    (weight,) = net.feedback_weights()
    assert weight.shape == (3, 1, 1, 1)
    torch.testing.assert_close(weight.detach().flatten(), torch.full((3,), -0.25, dtype=torch.float64), rtol=0, atol=1e-11)


def test_firing_only_above_the_threshold_is_a_threshold_that_is_one_bit_larger():
    assert imported(dense(6, 8), Made(strict=True, theta=0.5)).vths == (float(np.nextafter(0.5, 1.0)),)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_spikes_are_equal_even_where_potentials_meet_the_threshold_exactly(dtype):
    torch.manual_seed(0)
    quarters = nn.Linear(6, 8, bias=False).to(dtype)
    with torch.no_grad():
        quarters.weight.copy_(torch.randint(-2, 5, (8, 6)) / 4)
    values = torch.randint(0, 3, (5, 6)).to(dtype)
    net = fl.from_torch(nn.Sequential(quarters, Made(strict=True, leak=1.0)), input_shape=(6,), calibration=values, steps=15)
    assert "equal spikes" in net.metrics["imported"]
    currents = quarters(values).detach().double().expand(15, 5, 8)
    assert not torch.equal(Made(strict=True, leak=1.0)(currents), Made(strict=False, leak=1.0)(currents))  # it matters here


@pytest.mark.parametrize("reset", ["before", "after"])
def test_recurrent_weights_and_their_bias_are_taken_over(reset):
    torch.manual_seed(5)
    recurrent = nn.Linear(8, 8).double()
    net = imported(dense(6, 8), Made(recurrent=recurrent, reset=reset, leak=0.75), dense(8, 3))
    wanted = recurrent.weight.detach() - (0.25 * torch.eye(8) if reset == "after" else 0.0)
    torch.testing.assert_close(net.feedback_weights()[0].detach(), wanted, rtol=0, atol=1e-11)
    torch.testing.assert_close(net.stages[0].bias.detach(), dense(6, 8).double().bias.detach() + recurrent.bias.detach())


@pytest.mark.parametrize("reset", ["before", "after"])
def test_a_recurrent_convolution_is_taken_over(reset):
    torch.manual_seed(5)
    recurrent = nn.Conv2d(2, 2, 3, padding=1).double()
    neurons = Made(recurrent=recurrent, reset=reset, leak=0.75)
    net = imported(nn.Conv2d(1, 2, 3), neurons, nn.Flatten(), dense(8, 3), shape=(1, 4, 4))
    wanted = recurrent.weight.detach().clone()
    wanted[[0, 1], [0, 1], 1, 1] -= 0.25 if reset == "after" else 0.0
    torch.testing.assert_close(net.feedback_weights()[0].detach(), wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize("recurrent", [nn.Conv2d(2, 2, 2), nn.Conv2d(2, 2, 3, padding=1, groups=2)])
def test_a_recurrent_convolution_of_another_kind_is_refused(recurrent):
    with pytest.raises(fl.BadArgument, match=r"layer '1' \(Made\): its recurrent convolution must have an odd kernel"):
        imported(nn.Conv2d(1, 2, 3), Made(recurrent=recurrent), nn.Flatten(), dense(8, 3), shape=(1, 4, 4))


def test_a_recurrent_connection_of_several_modules_is_refused():
    with pytest.raises(fl.BadArgument, match=r"layer '1' \(Made\): its recurrent connection is Sequential; it must be nn.Linear"):
        imported(dense(6, 8), Made(recurrent=nn.Sequential(nn.Linear(8, 8))), dense(8, 3))


def test_sequences_are_compared_frame_by_frame_and_need_a_frame_for_every_step():
    source, frames = nn.Sequential(dense(6, 8), Made(theta=0.5), dense(8, 3)).double(), 2 * torch.rand(4, 7, 6, dtype=torch.float64)
    net = fl.from_torch(source, input_shape=(6,), calibration=frames, steps=7)
    assert "equal spikes" in net.metrics["imported"]
    with pytest.raises(fl.BadArgument, match="calibration has 7 frames per sample, fewer than steps = 8"):
        fl.from_torch(source, input_shape=(6,), calibration=frames, steps=8)


def test_without_a_readout_the_answers_are_the_rates_of_the_last_neurons():
    net = imported(dense(6, 8), Made(leak=1.0), dense(8, 3), Made(leak=1.0))
    values = torch.rand(4, 6, dtype=torch.float64)
    torch.testing.assert_close(net(values), net.simulate(values).rates[-1])


def test_a_neuron_that_resets_otherwise_than_it_says_is_told_by_what_it_does():
    with pytest.raises(
        fl.BadArgument, match=r"layer '1' \(Made\): measured with Made .*, it resets to zero, .* train with reset=\"before\""
    ):
        imported(dense(6, 8), Made(reset="zero", says="subtract"))
    net = imported(dense(6, 8), Made(reset="before", says="zero"))
    assert "subtracts θ before the leak" in net.metrics["imported"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"reset": "none"}, r"it does not reset, but an FSNN subtracts its threshold"),
        ({"reset": "half"}, r"it resets neither to zero nor by a fixed amount"),
        ({"delay": 1}, r"its spikes come 1 step\(s\) late"),
        ({"filtered": 0.5}, r"it has a second state, such as a synaptic current"),
        ({"floor": -1.0}, r"it limits how far inhibition lowers u"),
        ({"leak": 1.2}, r"it keeps 1\.2 of its potential per step"),
    ],
)
def test_what_an_fsnn_does_not_do_is_refused_in_a_sentence(options, sentence):
    with pytest.raises(fl.BadArgument, match=r"layer '1' \(Made\): measured with Made .*, " + sentence):
        imported(dense(6, 8), Made(**options))


def test_two_leaks_are_refused():
    with pytest.raises(fl.BadArgument, match=r"layer '3' \(Made\) keeps 0.8 of its potential per step, but layer '1' \(Made\) keeps 0.9"):
        imported(dense(6, 8), Made(leak=0.9), dense(8, 3), Made(leak=0.8))


def test_relus_beside_spiking_neurons_are_refused():
    with pytest.raises(fl.BadArgument, match=r"layer '1' \(ReLU\): a network with spiking neurons of Made cannot also contain ReLUs"):
        imported(dense(6, 8), nn.ReLU(), dense(8, 3), Made())


def test_what_the_probe_cannot_see_the_comparison_finds():
    """A single neuron always wins, so the probe sees ordinary neurons."""
    with pytest.raises(
        fl.CheckFailed, match=r"the imported network differs from the source: spikes differ first in layer 'l1', neuron \d, sample"
    ):
        imported(dense(6, 8), Made(winner=True))


def test_an_imported_network_is_quantised_run_and_found_faithful():
    torch.manual_seed(4)
    recurrent = nn.Linear(8, 8, bias=False).double()
    source = nn.Sequential(dense(6, 8), Made(recurrent=recurrent, reset="after", leak=0.75), dense(8, 3)).double()
    pixels = torch.randint(0, 256, (12, 6), dtype=torch.uint8)
    net = fl.from_torch(source, input_shape=(6,), calibration=pixels, steps=20, normalisation=fl.Normalisation(std=(0.5,)))
    chip = fl.quantise(net, calibration=pixels.numpy())
    result = fl.run(chip, pixels.numpy())
    assert fl.compare(result, chip, pixels.numpy(), model=net).faithful
    assert np.mean(result.predictions == net(pixels).argmax(1).numpy()) > 0.7
