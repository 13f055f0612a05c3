"""The readout in integers: the best clipping range, and an exponent that keeps a run inside its state."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava import limits
from fsnn_lava.quantisation import readout_rounding


def readout_error(made, rates, wanted):
    return float(np.mean(((rates @ made.weight.T * 2.0**made.exponent + made.bias) * made.scale - wanted) ** 2))


@pytest.mark.parametrize("bits", [3, 5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_the_readout_is_the_best_of_all_shares(bits, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    weight, bias, rates = rng.normal(size=(4, 30)), rng.normal(size=4), rng.random((50, 30))

    def made():
        return readout_rounding.round_readout(weight, bias, rates, bits=bits, decay=0, weight_sum=30.0)

    best, errors = made(), []
    for share in readout_rounding.SHARES:
        monkeypatch.setattr(readout_rounding, "SHARES", (share,))
        errors.append(readout_error(made(), rates, rates @ weight.T + bias))
    assert readout_error(best, rates, rates @ weight.T + bias) == min(errors)
    assert bits > 3 or min(errors) < errors[0]  # clipping pays


@pytest.mark.parametrize(
    ("logit", "bias", "highest", "exponent"),
    [
        (131071 / 32 * 0.999, 1e9, 9, 3),  # four times what calibration needs fits eight times
        (131071 / 32 * 1.001, 1e9, 9, 2),
        (131071 / 32 * 0.999, 1e9, 1, 1),  # no more than the weights have room for
        (1e6, 131071 / 8 * 0.999 - 6, 9, 3),  # the worst case asks for less: four weights of 3, two of them on one side
        (1e6, 131071 / 8 * 1.001 - 6, 9, 2),
        (1e30, 1e30, 9, limits.EXPONENT_RANGE[0]),
    ],
)
def test_the_readouts_exponent_keeps_a_run_inside_its_state(logit, bias, highest, exponent):
    weight, rates = np.array([[3.0, -3.0, 3.0, -3.0]]), np.full((2, 4), 0.01)
    found = readout_rounding._exponent(weight, rates, np.array([[1.0], [-logit]]), np.array([-bias]), 1.0, highest)
    assert found == exponent
    nothing = np.zeros((1, 4))
    assert readout_rounding._exponent(nothing, rates, nothing[:, :1], nothing[0, :1], 1.0, highest) == 0
