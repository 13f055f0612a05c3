"""ReLU networks as rates."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.importing.balance import balance
from fsnn_lava.importing.blocks import split
from fsnn_lava.importing.chain import links


def small_network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3)).double()


def balanced(net, values, steps=20):
    blocks = split(links(net), (6,), lambda module: isinstance(module, nn.ReLU))
    return balance(net, blocks, values, steps=steps, normalisation=None, class_names=())


def test_exact_rates_are_the_activations_over_the_largest_of_their_layer():
    net, values = small_network(), torch.randn(40, 6, dtype=torch.float64)
    found = balanced(net, values)
    first = torch.relu(net[0](values))
    second = torch.relu(net[2](first))
    rates = found.net.equilibrium(values, tol=1e-12).rates
    assert found.quantile == 1.0  # nothing is clipped, so nothing is lost
    torch.testing.assert_close(rates[0], first / first.max(), rtol=0, atol=1e-12)
    torch.testing.assert_close(rates[1], second / second.max(), rtol=0, atol=1e-12)
    torch.testing.assert_close(found.net.readout(rates[1]), net(values), rtol=0, atol=1e-12)
    assert found.agreement_of_rates == 1.0


def test_the_agreement_is_that_of_a_run_in_spikes():
    net, values = small_network(), torch.randn(40, 6, dtype=torch.float64)
    for steps in (2, 100):
        found = balanced(net, values, steps)
        same = found.net(values, steps=steps).argmax(1) == net(values).argmax(1)
        assert found.agreement == float(same.double().mean())
        assert f"{found.agreement:.1%} in {steps} steps" in str(found)
    assert found.agreement > 0.9


def test_few_large_activations_are_clipped_where_that_keeps_more_answers():
    net, values = small_network(), torch.randn(400, 6, dtype=torch.float64)
    values[0] *= 1e4  # one outlier would leave no resolution to all others
    found = balanced(net, values)
    assert found.quantile < 1.0
    assert found.agreement > 0.8


def test_a_silent_layer_keeps_its_scale():
    net, values = small_network(), torch.randn(10, 6, dtype=torch.float64)
    with torch.no_grad():
        net[2].weight.zero_()
        net[2].bias.fill_(-1.0)
    assert balanced(net, values).agreement == 1.0  # only the last bias answers


def test_a_hook_that_changes_the_source_is_noticed():
    net, values = small_network(), torch.randn(10, 6, dtype=torch.float64)
    net[2].register_forward_hook(lambda _module, _inputs, output: output + 1.0)
    with pytest.raises(BadNetwork, match=r"differs from the source by .* even without spikes: a hook or an overridden forward"):
        balanced(net, values)


def test_values_that_are_not_finite_are_refused():
    net, values = small_network(), torch.randn(10, 6, dtype=torch.float64)
    values[3, 2] = torch.nan
    with pytest.raises(BadNetwork, match=r"differs from the source by nan|is not finite"):
        balanced(net, values)


def test_a_network_without_a_readout_is_refused():
    with pytest.raises(BadArgument, match=r"layer '3' \(ReLU\): a network of ReLUs must end in nn.Linear"):
        balanced(small_network()[:4], torch.randn(10, 6, dtype=torch.float64))
