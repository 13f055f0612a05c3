"""The comparison of source and imported network, spike by spike."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import fsnn_lava as fl
from fsnn_lava.errors import CheckFailed
from fsnn_lava.importing.chain import links
from fsnn_lava.importing.proof import own_run, prove, source_run
from tests.helpers.made_neurons import Made, MadeFramework

FRAMEWORK = MadeFramework()


def pair(**options):
    """A source, and our network with the same weights and E1's neurons."""
    torch.manual_seed(0)
    first, last = nn.Linear(5, 6).double(), nn.Linear(6, 3).double()
    source = nn.Sequential(first, Made(leak=0.8, **options), last, Made(leak=0.8))
    ours = fl.from_modules({"a": first, "b": last}, input_shape=(5,), classes=3, neuron=fl.LIF(0.8), vth=1.0).eval()
    return links(source, FRAMEWORK.kinds), ours, 2 * torch.rand(4, 5, dtype=torch.float64)


def test_equal_networks_are_proved_equal_and_the_spikes_are_counted():
    chain, net, values = pair()
    proof = prove(chain, FRAMEWORK, net, values, steps=12).checked()
    trace = net.simulate(values, steps=12)
    assert proof.divergence is None
    assert proof.spikes == tuple(int(counts.sum()) for counts in trace.counts)
    assert str(proof).startswith(f"equal spikes in float64: {sum(proof.spikes)} of them in 4 samples and 12 steps")


def test_a_sequence_is_compared_frame_by_frame():
    chain, net, _ = pair()
    frames = torch.rand(3, 9, 5, dtype=torch.float64) * 3
    assert prove(chain, FRAMEWORK, net, frames, steps=9).divergence is None
    _, theirs = source_run(chain, FRAMEWORK, frames.transpose(0, 1))
    assert torch.equal(own_run(net, frames, 9)[0], theirs[0])


@pytest.mark.parametrize("reset", ["zero", "after"])
def test_the_first_spike_that_differs_is_named_with_both_states(reset):
    chain, net, values = pair(reset=reset)
    proof = prove(chain, FRAMEWORK, net, values, steps=12)
    first, theirs, ours = proof.divergence, source_run(chain, FRAMEWORK, values.expand(12, 4, 5))[1], own_run(net, values, 12)
    assert first is not None and first.layer == "a"
    before = slice(None, first.step)
    assert all(torch.equal(one[before], other[before]) for one, other in zip(theirs, ours, strict=True))
    at = (first.step, first.sample, *first.neuron)
    assert (float(theirs[0][at]), float(ours[0][at])) == (first.source_spike, first.spike) and first.source_spike != first.spike
    assert (first.potential >= first.vth) is bool(first.spike)
    with pytest.raises(
        CheckFailed, match=rf"layer 'a', neuron {first.neuron[0]}, sample {first.sample}, step {first.step}: the source sends"
    ):
        proof.checked()


def test_layers_without_a_spike_are_named_since_they_prove_nothing():
    chain, net, _ = pair()
    proof = prove(chain, FRAMEWORK, net, torch.zeros(2, 5, dtype=torch.float64), steps=2)
    assert proof.spikes == (0, 0) and str(proof).endswith("; none in a, b")
