"""Neurons in float: the weights of a rate (E3), and a spike at the threshold itself (E1)."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.neurons import IF, LIF, SigmaDelta, fire


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"leak": 0.9}, "a sigma-delta neuron has no leak, got 0.9"),
        ({"dead_band": -0.1}, r"dead_band must lie in \[0, 1\] \(spikes per step\), got -0.1"),
        ({"dead_band": float("nan")}, r"dead_band must lie in \[0, 1\]"),
        ({"dead_band": [0.1, 0.2]}, r"dead_band must lie in \[0, 1\] \(spikes per step\), got \[0.1, 0.2\]"),
        ({"activation": "tanh"}, "activation must be 'clip' or 'relu', got 'tanh'"),
    ],
)
def test_a_sigma_delta_neuron_without_meaning_is_refused(options, message):
    with pytest.raises(BadArgument, match=message):
        SigmaDelta(**options)


def test_only_relus_have_no_largest_rate():
    assert [neuron.rate_max for neuron in (IF(), LIF(0.9), SigmaDelta(), SigmaDelta(activation="relu"))] == [1.0, 1.0, 1.0, float("inf")]
