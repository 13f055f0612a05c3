"""Every kind of connection, compared with an implementation that writes out its matrix."""

from __future__ import annotations

import numpy as np
import pytest

from hw_tests.networks import STOCK_LIF, with_synapse
from tests.helpers.naive_simulator import simulate


def assert_same(result, expected):
    """Compare every count, potential and late spike, and the readout."""
    for name in ("counts", "potentials", "late"):
        for number, (found, wanted) in enumerate(zip(getattr(result, name), getattr(expected, name), strict=True)):
            np.testing.assert_array_equal(found, wanted, err_msg=f"{name} of part {number}")
    np.testing.assert_array_equal(result.readout, expected.readout)


@pytest.mark.parametrize("neuron", ["subtract", "stock LIF"])
@pytest.mark.parametrize("kind", ["dense", "conv", "grouped", "transposed"])
def test_every_kind_of_synapse(target, kind, neuron):
    chip = with_synapse(kind, **(STOCK_LIF if neuron == "stock LIF" else {}))
    values = np.random.default_rng(5).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    expected = simulate(target.network(chip), values)
    assert all(counts.sum() > 0 for counts in expected.counts)
    assert any(late.sum() > 0 for late in expected.late)
    assert_same(target.run(chip, values), expected)
