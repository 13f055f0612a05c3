"""Training with quantised weights: what is trained is what is exported, and gradients pass straight through."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.quantisation.counterpart import counterpart
from fsnn_lava.quantisation.fake_quantise import (
    disable_fake_quantisation,
    enable_fake_quantisation,
    fake_quantise,
    is_fake_quantised,
    materialised,
)
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.quantise import quantise
from tests.quantisation.test_fold import network, raw


@pytest.mark.parametrize("bits", range(2, 9))
def test_rounded_weights_take_no_more_values_than_bits_allow(bits):
    weight = torch.randn(50, 40, generator=torch.Generator().manual_seed(0))
    rounded = fake_quantise(weight, bits)
    steps = rounded / (rounded.abs().max() / (2 ** (bits - 1) - 1))
    assert (steps - steps.round()).abs().max() < 1e-4
    assert len(steps.round().unique()) <= 2**bits - 1


def test_gradients_pass_straight_through():
    weight = torch.randn(5, 4, requires_grad=True)
    pattern = torch.arange(20.0).view(5, 4)
    (fake_quantise(weight, 3) * pattern).sum().backward()
    assert torch.equal(weight.grad, pattern)


@pytest.mark.parametrize("bits", [3, 4])
@pytest.mark.parametrize("name", ["dense", "conv", "transposed", "two dense"])
def test_export_finds_exactly_the_weights_that_were_trained(name, bits):
    net = network(name)
    enable_fake_quantisation(net, bits)
    plain = materialised(net)
    folded, chip = fold(plain), quantise(plain, bits=bits, per_channel=True, calibration=raw(net, 8).numpy())
    for synapse in chip.synapses:
        connection = counterpart(folded, chip, synapse)
        scale = np.broadcast_to(chip.layer(synapse.target).scale, chip.layer(synapse.target).shape[:1]) * 2.0**synapse.exponent
        axes = tuple(i for i in range(synapse.weight.ndim) if i != connection.target_axis)
        np.testing.assert_allclose(synapse.weight * np.expand_dims(scale, axes), connection.weight.numpy(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["dense", "conv", "pooled"])
def test_a_materialised_copy_is_the_network_that_trains(name):
    net = network(name)
    before = {key: value.clone() for key, value in net.state_dict().items()}
    plain_logits = net(raw(net)).detach()
    enable_fake_quantisation(net, 4)
    with torch.no_grad():
        rounded_logits = net(raw(net))
    assert not torch.allclose(rounded_logits, plain_logits)
    copy = materialised(net)
    assert not is_fake_quantised(copy)
    with torch.no_grad():
        torch.testing.assert_close(copy(raw(net)), rounded_logits, rtol=0, atol=1e-9)
    assert all(torch.equal(before[key], value) for key, value in net.state_dict().items()), "the parameters underneath stay as they are"
    disable_fake_quantisation(net)
    with torch.no_grad():
        assert torch.equal(net(raw(net)), plain_logits)


def test_a_step_of_training_moves_the_weights_underneath():
    net = network("conv").float().train()
    enable_fake_quantisation(net, 4)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    before = net.state_dict()["stages.0.linear.weight"].clone()
    net(raw(net)).square().mean().backward()
    optimiser.step()
    after = net.state_dict()["stages.0.linear.weight"]
    assert not torch.equal(before, after)
    assert net.state_dict().keys() == network("conv").state_dict().keys()


def test_a_saved_copy_loads_as_a_plain_network(tmp_path):
    net = network("conv")
    enable_fake_quantisation(net, 4)
    materialised(net).save(tmp_path / "model.pt")
    loaded = FSNN.load(tmp_path / "model.pt")
    with torch.no_grad():
        torch.testing.assert_close(loaded(raw(net)), net(raw(net)), rtol=0, atol=1e-9)


def test_what_makes_no_sense_is_refused():
    net = network("conv")
    with pytest.raises(BadArgument, match="bits must be between 2 and 8, got 9"):
        enable_fake_quantisation(net, 9)
    enable_fake_quantisation(net, 4)
    with pytest.raises(BadArgument, match="already trains"):
        enable_fake_quantisation(net, 4)
