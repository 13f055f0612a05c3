"""The slack of the charge balance (E10) is no larger than its terms."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.arrived_charge import layer_charge
from fsnn_lava.verify.bounds.charge_rounding import charge_float_error, charge_truncation_loss
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_simulator import simulate


def run_batch(chip, samples):
    values = np.random.default_rng(0).integers(0, 256, (samples, *chip.input.shape), dtype=np.uint8)
    return Batch(chip=chip, result=simulate(chip, values), values=values, labels=None, offset=10)


def test_the_slack_for_rounding_has_every_term_of_the_sum_in_it():
    chip, drive = dense_network(1, decay=100), np.array([[-3e9, 1.0]])
    batch, total = SimpleNamespace(chip=chip, steps=20), chip.weight_sum(20)
    found = charge_float_error(batch, (), drive, 1e8)
    assert found == pytest.approx((3e9 + 1e8 * total + 2.0**24) * 88 * 2.0**-53, rel=1e-12)
    back, size = chip.feedback[0], np.abs(chip.feedback[0].weight.astype(np.int64)).sum(axis=1).max()
    more = 2.0**6 * size * 2 * total / chip.leak * (2 * 20 + 5 + 1 + 8) * 2.0**-53
    assert charge_float_error(batch, (back,), drive, 1e8) == pytest.approx(found + more, rel=1e-12)


def test_a_leak_takes_no_more_than_its_truncations_and_the_rounding_of_float_sums():
    """(1 - 2**-12)(A - lambda**19) each way, and sums with the threshold of 700 in units of 2**-6; without a leak nothing (E10)."""
    batch = run_batch(dense_network(1, decay=100), 2)
    leak, slack = 1 - 100 / 4096, charge_float_error(batch, batch.chip.feedback, batch.drives[0], 700.0 * 64)
    most = (1 - 2.0**-12) * (sum(leak**age for age in range(20)) - leak**19) + slack
    assert layer_charge(batch, batch.chip.layers[0]).lost == pytest.approx((-most, most), rel=1e-12)
    assert slack > 1e-9 * most  # so that a wrong threshold shows
    assert charge_truncation_loss(dense_network(1), 20) == 0.0
