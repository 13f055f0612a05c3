"""What the phases of a neuron's sources add up to (E11): from matrices written out, and as often exceeded as stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.verify.bounds import phase_noise
from fsnn_lava.verify.bounds.phase_noise import CHANCE, equilibrium_charge
from tests.helpers.chip_networks import conv_network, dense_network, skip_network
from tests.helpers.naive_simulator import matrix_of
from tests.verify.test_comparator import loop_network


@pytest.mark.parametrize("chip", [dense_network(2), conv_network(3, per_channel=True), skip_network(1)], ids=["dense", "conv", "skip"])
def test_it_is_the_length_of_the_rows_of_all_connections_between_layers(chip):
    for layer in chip.layers:
        squares = np.zeros(layer.size)
        for synapse in chip.into(layer):
            if synapse.source != "input":
                matrix = matrix_of(synapse, chip.layer(synapse.source).shape, layer.shape) * 2.0**synapse.exponent
                squares += np.square(matrix.reshape(layer.size, -1)).sum(axis=1)
        theta = layer.per_neuron(layer.threshold).reshape(-1)
        expected = 1 + np.sqrt(2 * np.log(1 / CHANCE) * squares) / theta
        np.testing.assert_allclose(equilibrium_charge(chip, layer).reshape(-1), expected, rtol=1e-12)


def test_without_other_layers_it_is_one_spike():
    chip = loop_network([[0, 0], [0, 0]])
    assert equilibrium_charge(chip, chip.layers[0]).tolist() == [1.0, 1.0]


def test_an_exponent_scales_the_weights():
    chip = loop_network([[30, 40], [0, 0]])
    scaled = replace(chip, synapses=tuple(replace(s, exponent=s.exponent + 1) for s in chip.synapses))
    one, other = (equilibrium_charge(c, c.layers[0])[0] - 1 for c in (chip, scaled))
    assert other == pytest.approx(2 * one)


def test_independent_phases_exceed_it_no_more_often_than_stated(monkeypatch):
    """Differences of two phases between 0 and 1 for each of 40 sources; the bound for one in ten holds in at least nine of ten."""
    monkeypatch.setattr(phase_noise, "CHANCE", 0.1)
    rng = np.random.default_rng(0)
    chip = dense_network(1, size=40)
    (layer,), (feedback,) = chip.layers, chip.feedback
    limit = (equilibrium_charge(chip, layer)[0] - 1) * layer.per_neuron(layer.threshold)[0]
    moved = (rng.random((4000, 40)) - rng.random((4000, 40))) @ (feedback.weight[0] * 2.0**feedback.exponent)
    assert np.mean(moved > limit) <= 0.1
