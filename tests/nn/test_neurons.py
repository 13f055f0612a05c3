"""Neurons in float: the weights of a rate (E3), and a spike at the threshold itself (E1)."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.neurons import IF, LIF, fire


@pytest.mark.parametrize("leak", [1.0, 0.95, 0.5])
def test_the_newest_step_weighs_most_and_all_weights_add_up_to_one(leak):
    neuron, steps = LIF(leak), 7
    plain = [leak ** (steps - tau) for tau in range(1, steps + 1)]
    assert neuron.weight_sum(steps) == pytest.approx(sum(plain), rel=1e-12)
    assert neuron.weights(steps) == pytest.approx([weight / sum(plain) for weight in plain], rel=1e-12)


def test_a_potential_at_the_threshold_fires_and_keeps_the_rest():
    potential = torch.tensor([2.0, 1.9999, 2.5, 4.5, -3.0], dtype=torch.float64)
    spikes = fire(potential, vth=2.0)
    assert spikes.tolist() == [1.0, 0.0, 1.0, 1.0, 0.0]  # one spike a step, however much is there
    assert potential.tolist() == [0.0, 1.9999, 0.5, 2.5, -3.0]


@pytest.mark.parametrize("leak", [0.0, -0.1, 1.001, float("nan")])
def test_a_leak_outside_its_range_is_refused(leak):
    with pytest.raises(BadArgument, match=r"leak must lie in \(0, 1\], got"):
        LIF(leak)


def test_an_if_neuron_has_no_leak():
    assert IF().weights(4) == [0.25] * 4
    with pytest.raises(BadArgument, match=r"an IF neuron has no leak; use LIF\(0\.9\)"):
        IF(0.9)
