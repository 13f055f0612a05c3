"""f around known rates: the same at the centre, and nearly the same beside it."""

from __future__ import annotations

import numpy as np

from fsnn_lava.ir.nearby_rate_map import NearbyRateMap
from fsnn_lava.ir.rate_map import RateMap
from tests.helpers.strategies import random_network, random_values


def test_at_the_centre_it_is_f_and_nearby_only_the_change_is_rounded():
    """float32 rounds the change d of the rates, and its sums, by less than (fan-in + 2) 2**-24 of sum |w| |d|; here d is at most 2**-10."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        chip = random_network(rng)
        rate_map, values = RateMap(chip), random_values(rng, chip, 2)
        drive = rate_map.drive(values)
        centre = tuple(rng.random((2, *layer.shape)) for layer in chip.layers)
        near = NearbyRateMap(rate_map, centre)
        for exact, found in zip(rate_map.apply(centre, drive), near.apply(centre, drive)):
            np.testing.assert_array_equal(found, exact)
        moved = tuple(rate + 2.0**-10 * rng.uniform(-1, 1, rate.shape) for rate in centre)
        for synapse in (s for s in chip.synapses if s.source != "input"):
            rates = moved[chip.index(synapse.source)]
            sums = np.abs(synapse.weight.astype(float)).sum() * 2.0**synapse.exponent * 2.0**-10  # at least any neuron's
            np.testing.assert_allclose(
                near.apply_synapse(synapse, rates),
                rate_map.apply_synapse(synapse, rates),
                rtol=1e-12,
                atol=(synapse.weight.size + 2) * 2.0**-24 * sums,
            )
