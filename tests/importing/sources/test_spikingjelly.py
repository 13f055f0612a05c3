"""Networks of SpikingJelly, with the package itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import fsnn_lava as fl

neuron = pytest.importorskip("spikingjelly.activation_based.neuron")
layer = pytest.importorskip("spikingjelly.activation_based.layer")


def imported(*modules):
    torch.manual_seed(1)
    return fl.from_torch(nn.Sequential(*modules), input_shape=(8,), calibration=2 * torch.rand(6, 8), steps=20)


def dense(inputs, outputs):
    torch.manual_seed(inputs)
    return nn.Linear(inputs, outputs)


def test_nodes_without_a_leak_are_our_neurons():
    net = imported(dense(8, 6), neuron.IFNode(v_reset=None), dense(6, 3), neuron.IFNode(v_reset=None, v_threshold=0.5))
    assert net.vths == (1.0, 0.5) and net.neuron == fl.IF() and net.feedbacks == ()
    assert "l1, l2 subtracts θ, spikes at u >= θ, does not leak, without delay; equal spikes" in net.metrics["imported"]


def test_the_decay_of_the_input_is_part_of_the_threshold():
    net = imported(
        dense(8, 6), neuron.LIFNode(tau=2.0, v_reset=None), dense(6, 3), neuron.LIFNode(tau=2.0, decay_input=False, v_reset=None)
    )
    assert net.vths == (2.0, 1.0) and net.neuron == fl.LIF(0.5)
    assert "multiplies its input by 0.5" in net.metrics["imported"]


def test_a_recurrent_container_sends_the_same_spikes():
    net = imported(dense(8, 6), layer.LinearRecurrentContainer(neuron.IFNode(v_reset=None), 6, 6), dense(6, 3))
    assert len(net.feedbacks) == 1
    assert "equal spikes" in net.metrics["imported"]


def test_layers_with_a_step_mode_are_read_as_those_of_torch():
    torch.manual_seed(3)
    source = nn.Sequential(
        layer.Conv2d(1, 3, 3, bias=False),
        layer.BatchNorm2d(3),
        neuron.IFNode(v_reset=None),
        layer.AvgPool2d(2),
        layer.Dropout(0.5),
        layer.Flatten(),
        layer.Linear(12, 3),
    )
    for module in source:
        module.step_mode = "m"
    net = fl.from_torch(source, input_shape=(1, 6, 6), calibration=5 * torch.rand(4, 1, 6, 6), steps=10)
    assert net.graph.shapes == ((3, 4, 4),)
    assert "equal spikes" in net.metrics["imported"]


def test_a_hard_reset_is_refused():
    with pytest.raises(fl.BadArgument, match=r"layer '1' \(LIFNode\): measured with SpikingJelly .*, it resets to zero, .* v_reset=None"):
        imported(dense(8, 6), neuron.LIFNode())
