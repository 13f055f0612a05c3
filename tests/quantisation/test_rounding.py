"""Rounding step by step: the choices among candidates, and the exponents at the edges of their rules."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fsnn_lava import limits
from fsnn_lava.nn.operators import Dense, TransposedConvolution
from fsnn_lava.quantisation import quantise, rounding
from fsnn_lava.quantisation.folded_network import FoldedConnection


@pytest.mark.parametrize(
    ("vth", "potential_max", "step_max", "shift"),
    [
        (500.0, 0.0, 0.0, 0),  # the ends of the window belong to it
        (4000.0, 0.0, 0.0, 0),
        (499.0, 0.0, 0.0, 1),
        (60.0, 0.0, 0.0, 4),
        (4001.0, 0.0, 0.0, -1),
        (70000.0, 0.0, 0.0, -5),
        (4000.0, 10 * limits.THRESHOLD_MAX, 0.0, -3),  # headroom needs more than the window gives: 500 is reached, not left
        (4000.0, limits.THRESHOLD_MAX / 4.0, 0.0, 0),  # four times the largest potential just fits
        (4000.0, limits.THRESHOLD_MAX / 3.9, 0.0, -1),
        (4000.0, limits.THRESHOLD_MAX / 1.9, 0.0, -2),
        (4000.0, 0.0, limits.THRESHOLD_MAX / 1.06, 0),  # one step just fits
        (4000.0, 0.0, limits.THRESHOLD_MAX / 1.04, -1),
        (4000.0, 0.0, 15.0 * limits.THRESHOLD_MAX, -4),  # one step must not wrap: the window may be left for it
        (4096.0, 0.0, 1e9 * limits.THRESHOLD_MAX, -6),  # but not below 64
    ],
)
def test_the_exponent_keeps_the_threshold_in_its_window_and_gives_headroom(vth, potential_max, step_max, shift):
    problem = SimpleNamespace(vth=vth, potential_max=potential_max)
    assert rounding._exponent_shift(problem, np.array([1.0]), step_max) == shift
    assert (
        rounding._exponent_shift(SimpleNamespace(vth=vth / 8, potential_max=potential_max / 8), np.array([0.125, 0.125]), step_max / 8)
        == shift
    )


def test_the_unit_of_the_threshold_is_the_middle_one_and_that_of_the_headroom_the_smallest():
    units = np.array([1.0, 2.0, 64.0])
    assert rounding._exponent_shift(SimpleNamespace(vth=8000.0, potential_max=0.0), units, 0.0) == 0  # 4000 units of 2
    assert rounding._exponent_shift(SimpleNamespace(vth=8000.0, potential_max=limits.THRESHOLD_MAX / 3.9), units, 0.0) == -1
    assert rounding._exponent_shift(SimpleNamespace(vth=8000.0, potential_max=0.0), units, limits.THRESHOLD_MAX / 1.04) == -1


def test_shares_fall_from_the_whole_range():
    assert rounding.SHARES[0] == 1.0
    assert all(0 < after < before for before, after in pairwise(rounding.SHARES))


@pytest.mark.parametrize(
    ("kind", "divisor", "largest", "expected"),
    [("pixels", 255.0, 9, 255), ("pixels", 15.5, 9, 16), ("pixels", 0.5, 9, 9), ("pixels", 1.0, 0, 1), ("events", 255.0, 9, 9)],
)
def test_the_largest_message_is_what_was_seen_or_the_full_scale_of_images(kind, divisor, largest, expected):
    folded = SimpleNamespace(normalisation=SimpleNamespace(divisor=divisor))
    assert quantise._message_max(folded, np.array([[0, largest]], np.uint8), kind) == expected


@pytest.mark.parametrize("unit", [np.array(0.05), np.array([0.05, 0.07, 0.04])])
def test_the_expected_error_is_that_of_independent_messages(unit, monkeypatch):
    """Each weight's rounding error times a message with this mean and variance, for a dense connection and a transposed one."""
    monkeypatch.setattr(rounding, "NUMBERS_AT_ONCE", 8)  # several parts
    generator = torch.Generator().manual_seed(0)
    dense = FoldedConnection(
        source="input", target="l1", operator=Dense(in_shape=(4,), channels=3), weight=torch.randn(3, 4, generator=generator).double()
    )
    transposed = TransposedConvolution(in_shape=(2, 3, 3), channels=3, kernel=(2, 2))
    back = FoldedConnection(source="l2", target="l1", operator=transposed, weight=torch.randn(2, 3, 2, 2, generator=generator).double())
    messages = torch.rand(6, 4, generator=generator).double(), torch.rand(6, 2, 3, 3, generator=generator).double()
    problem = SimpleNamespace(shape=(3,), vth=2.0, connections=(dense, back), messages=messages)
    top, wanted = 15, np.zeros(3)
    samples = messages[0].numpy(), messages[1].numpy().transpose(0, 2, 3, 1).reshape(-1, 2)
    for weight, seen, exponent in ((dense.weight.numpy()[:, :, None], samples[0], 0), (_by_target(back), samples[1], 1)):
        for channel in range(3):
            step = float(np.broadcast_to(unit, 3)[channel]) * 2.0**exponent
            mean = variance = 0.0
            for source in range(weight.shape[1]):
                for value in weight[channel, source]:
                    off = min(max(round(value / step), -top), top) * step - value
                    mean += off * seen[:, source].mean()
                    variance += off**2 * seen[:, source].var()
            wanted[channel] += (mean**2 + variance) / 2.0**2
    found = rounding.ExpectedError(problem, top).per_channel(rounding.Grid(unit, (0, 1)))
    np.testing.assert_allclose(found, wanted, rtol=1e-9)  # sums of some ten terms in float64


def _by_target(connection: FoldedConnection) -> np.ndarray:
    """[targets, sources, taps]."""
    return connection.weight.numpy().transpose(1, 0, 2, 3).reshape(3, 2, 4)
