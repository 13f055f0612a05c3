"""Networks of sinabs, with the package itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import fsnn_lava as fl

layers = pytest.importorskip("sinabs.layers")
activation = pytest.importorskip("sinabs.activation")


def imported(*modules):
    torch.manual_seed(1)
    return fl.from_torch(nn.Sequential(*modules), input_shape=(8,), calibration=3 * torch.rand(6, 8), steps=20)


def dense(inputs, outputs, *, bias=True):
    torch.manual_seed(inputs)
    return nn.Linear(inputs, outputs, bias=bias)


def test_single_spikes_and_subtraction_are_our_neurons():
    net = imported(dense(8, 6), layers.IAF(spike_fn=activation.SingleSpike), dense(6, 3))
    assert net.neuron == fl.IF() and net.feedbacks == ()
    assert "equal spikes" in net.metrics["imported"]


def test_leaky_neurons_with_and_without_normalised_input_share_a_leak():
    options = {"tau_mem": 5.0, "spike_fn": activation.SingleSpike}
    net = imported(dense(8, 6), layers.LIF(**options), dense(6, 3), layers.LIF(**options, norm_input=False))
    assert net.neuron.leak == pytest.approx(float(torch.exp(torch.tensor(-0.2, dtype=torch.float64))), rel=1e-6)
    assert net.vths[0] == pytest.approx(net.vths[1] / (1 - net.neuron.leak), rel=1e-6)


def test_recurrent_layers_send_the_same_spikes():
    net = imported(dense(8, 6), layers.IAFRecurrent(dense(6, 6, bias=False), spike_fn=activation.SingleSpike), dense(6, 3))
    assert len(net.feedbacks) == 1
    assert "equal spikes" in net.metrics["imported"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "it sends spikes of size"),
        ({"spike_fn": activation.SingleSpike, "min_v_mem": -1.0}, "it limits how far inhibition lowers u"),
        ({"spike_fn": activation.SingleSpike, "reset_fn": activation.MembraneReset()}, "it resets to zero"),
    ],
)
def test_other_layers_are_refused_by_what_they_do(options, sentence):
    with pytest.raises(fl.BadArgument, match=rf"layer '1' \(IAF\): measured with sinabs [\d.]+, {sentence}"):
        imported(dense(8, 6), layers.IAF(**options))
