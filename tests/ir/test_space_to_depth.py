"""The packed network has no transposed convolution and produces the same spikes, in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.ir.network import TransposedConvSynapse
from fsnn_lava.ir.space_to_depth import packed, space_to_depth, unpacked
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_simulator import simulate


def test_a_neuron_is_where_the_description_says():
    """(c, y, x) lies in channel ((y % f) * g + x % g) * C + c at (y // f, x // g)."""
    shape, (f, g) = (3, 4, 6), (2, 3)
    values = np.arange(72).reshape(shape)
    small = packed(values, shape, (f, g))
    assert small.shape == (18, 2, 2)
    for c, y, x in np.ndindex(shape):
        assert small[((y % f) * g + x % g) * 3 + c, y // f, x // g] == values[c, y, x]
    np.testing.assert_array_equal(unpacked(small, shape, (f, g)), values)
    batch = np.arange(144).reshape(2, *shape)
    np.testing.assert_array_equal(unpacked(packed(batch, shape, (f, g)), shape, (f, g)), batch)


@pytest.mark.parametrize("kind", ["pixels", "current", "events"])
def test_the_packed_network_makes_the_same_spikes(kind):
    chip = replace(conv_network(4, kind=kind, per_channel=True), steps=6)
    small, factors = space_to_depth(chip)
    assert factors == {"l1": (2, 2), "l2": (1, 1)}
    assert not any(isinstance(synapse, TransposedConvSynapse) for synapse in small.synapses)
    shape = (2, 6, *chip.input.shape) if kind == "events" else (2, *chip.input.shape)
    values = np.random.default_rng(1).integers(0, 2 if kind == "events" else 256, shape, dtype=np.uint8)
    one, other = simulate(chip, values), simulate(small, values)
    for name in ("counts", "potentials", "clipped"):
        for layer, a, b in zip(chip.layers, getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_array_equal(a, unpacked(b, layer.shape, factors[layer.name]), err_msg=f"{name} of {layer.name}")
    np.testing.assert_array_equal(one.readout, other.readout)
    assert one.counts[0].any()


def test_a_network_without_transposed_convolutions_stays_as_it_is():
    chip = dense_network(1)
    small, factors = space_to_depth(chip)
    assert factors == {"l1": (1, 1)}
    np.testing.assert_array_equal(small.synapses[1].weight, chip.synapses[1].weight)
    np.testing.assert_array_equal(small.readout.weight, chip.readout.weight)
