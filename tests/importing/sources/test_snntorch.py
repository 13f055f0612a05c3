"""Networks of snnTorch, with the package itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import fsnn_lava as fl

snn = pytest.importorskip("snntorch")
utils = pytest.importorskip("snntorch.utils")


def imported(*modules, values=None, steps=20):
    torch.manual_seed(1)
    given = torch.rand(6, 8) if values is None else values
    return fl.from_torch(nn.Sequential(*modules), input_shape=(8,), calibration=given, steps=steps)


def dense(inputs, outputs):
    torch.manual_seed(inputs)
    return nn.Linear(inputs, outputs)


def trained():
    """Seconds of surrogate gradients: is the first half of the input brighter than the second?"""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), snn.Leaky(0.9, init_hidden=True), nn.Linear(16, 2), snn.Leaky(0.9, init_hidden=True))
    descent = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(25):
        values, labels = halves(32)
        utils.reset(net)
        counts = sum(net(values) for _ in range(10))
        descent.zero_grad()
        nn.functional.cross_entropy(counts, labels).backward()
        descent.step()
    return net


def halves(number):
    values = torch.randint(0, 256, (number, 8), dtype=torch.uint8)
    return values / 255, (values[:, :4].double().mean(1) > values[:, 4:].double().mean(1)).long()


def test_a_trained_network_keeps_its_spikes_in_float_and_its_answers_in_integers():
    source = trained()
    values, labels = halves(100)
    pixels = (values * 255).round().to(torch.uint8)
    net = fl.from_torch(source, input_shape=(8,), calibration=pixels[:32], steps=10, normalisation=fl.Normalisation())
    said = net.metrics["imported"]
    assert said.startswith(f"measured with snnTorch {snn.__version__}: l1, l2 subtracts θ after the leak, spikes at u > θ, keeps 0.9 of u")
    assert "equal spikes in float64" in said
    answers = net(pixels).argmax(1)
    assert (answers == labels).double().mean() > 0.7
    chip = fl.quantise(net, calibration=pixels[:32].numpy())
    result = fl.run(chip, pixels.numpy())
    assert (torch.from_numpy(result.predictions) == answers).double().mean() > 0.8
    assert fl.compare(result, chip, pixels.numpy(), model=net).faithful


def test_without_a_leak_nothing_is_added():
    net = imported(dense(8, 6), snn.Leaky(1.0), dense(6, 3))
    assert net.neuron == fl.IF() and net.feedbacks == ()


@pytest.mark.parametrize("neurons", [lambda: snn.RLeaky(0.8, linear_features=6), lambda: snn.RLeaky(0.8, all_to_all=False, V=0.3)])
def test_recurrent_networks_send_the_same_spikes(neurons):
    net = imported(dense(8, 6), neurons(), dense(6, 3))
    assert len(net.feedbacks) == 1
    assert "equal spikes" in net.metrics["imported"]


@pytest.mark.parametrize(
    ("neurons", "sentence"),
    [
        (lambda: snn.Leaky(0.9, reset_mechanism="zero"), r'it resets to zero, .* train with snn.Leaky\(…, reset_mechanism="subtract"'),
        (lambda: snn.Leaky(0.9, reset_mechanism="none"), "it does not reset"),
        (lambda: snn.Leaky(0.9, reset_delay=False), "it resets neither to zero nor by a fixed amount"),
        (lambda: snn.Synaptic(0.5, 0.9), "it has a second state, such as a synaptic current"),
    ],
)
def test_what_was_measured_is_refused_with_a_remedy(neurons, sentence):
    with pytest.raises(fl.BadArgument, match=rf"layer '1' \(\w+\): measured with snnTorch [\d.]+, {sentence}"):
        imported(dense(8, 6), neurons(), dense(6, 3))


def test_a_reset_that_is_not_what_the_name_says_is_found():
    neurons = snn.Leaky(0.9, reset_mechanism="subtract")
    neurons.state_function = neurons._base_zero  # what it does is another matter
    with pytest.raises(fl.BadArgument, match="it resets to zero"):
        imported(dense(8, 6), neurons)
    neurons = snn.Leaky(0.9, reset_mechanism="zero")
    neurons.state_function = neurons._base_sub
    net = imported(dense(8, 6), neurons)
    assert "subtracts θ after the leak" in net.metrics["imported"] and "equal spikes" in net.metrics["imported"]


def test_leaks_that_differ_between_neurons_are_refused():
    with pytest.raises(fl.BadArgument, match=r"layer '1' \(Leaky\): beta differs between its neurons"):
        imported(dense(8, 6), snn.Leaky(torch.linspace(0.5, 0.9, 6)))


def test_inhibition_between_neurons_is_found_by_the_comparison():
    with pytest.warns(UserWarning, match="Inhibition"):
        neurons = snn.Leaky(0.9, inhibition=True)
    with pytest.raises(fl.CheckFailed, match="spikes differ first in layer 'l1'"):
        imported(dense(8, 6), neurons, values=10 * torch.rand(6, 8))


def test_states_left_over_from_training_do_not_matter():
    neurons = snn.Leaky(0.9, init_hidden=True)
    source = nn.Sequential(dense(8, 6), neurons)
    source(torch.rand(6, 8))  # its potential now belongs to an autograd graph
    kept = neurons.mem
    fl.from_torch(source, input_shape=(8,), calibration=torch.rand(6, 8), steps=5)
    assert neurons.mem is kept
