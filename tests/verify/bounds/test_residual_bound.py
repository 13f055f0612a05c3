"""The residual bound (E11) is no looser than the equation says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.residual_bound import residual_bound
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_simulator import simulate


def test_a_synapse_that_shifts_by_nothing_rounds_nothing():
    """6 + e = 0: nothing is floored, so E11 is an identity for integrate-and-fire."""
    base = dense_network(2)
    chip = replace(base, synapses=(base.synapses[0], replace(base.synapses[1], exponent=-6)))
    values = np.random.default_rng(0).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    result = simulate(chip, values)
    rate_map = RateMap(chip)
    residual = np.abs(rate_map.apply(result.rates, rate_map.drive(values))[0] - result.rates[0])
    bound = residual_bound(Batch(chip=chip, result=result, values=values, labels=None, offset=0), chip.layers[0])
    np.testing.assert_allclose(bound, residual, rtol=0, atol=1e-9)  # one unit of the potential would be 1e-6
