"""The derivative once around the loops: that of the map itself, and its transpose."""

from __future__ import annotations

import numpy as np

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.linearised_loop import LinearisedLoop, Loop
from tests.helpers.strategies import random_network, random_values


def loops(number):
    """Random networks with feedback between any layers, a point of each, and the derivative there."""
    for seed in range(number):
        rng = np.random.default_rng([11, seed])
        chip = random_network(rng)
        if not chip.feedback:
            continue
        rate_map, values = RateMap(chip), random_values(rng, chip, 2)
        loop, drive = Loop(rate_map), rate_map.drive(values)
        point = rng.random((2, loop.size))
        _, inputs = loop.sweep(point, drive)
        yield rng, loop, drive, point, inputs, LinearisedLoop(loop, tuple((z > 0) & (z < 1) for z in inputs))


def test_it_is_the_difference_quotient_of_the_map():
    """f is linear on each piece: a step of 1e-9 that changes no piece gives the derivative but for rounding, 1e-16 / 1e-9."""
    compared = 0
    for rng, loop, drive, point, inputs, jacobian in loops(25):
        direction = rng.standard_normal(point.shape)
        moved, after = loop.sweep(point + 1e-9 * direction, drive)
        before, _ = loop.sweep(point, drive)
        if any((((a > 0) != (b > 0)) | ((a < 1) != (b < 1))).any() for a, b in zip(inputs, after)):
            continue
        quotient = (loop.join(moved) - loop.join(before)) / 1e-9
        scale = max(1.0, np.abs(quotient).max())
        np.testing.assert_allclose(jacobian.apply(direction), quotient, rtol=0, atol=1e-5 * scale)
        compared += 1
    assert compared >= 10


def test_the_transpose_is_the_transpose():
    for rng, loop, _, point, _, jacobian in loops(25):
        left, right = rng.standard_normal(point.shape), rng.standard_normal(point.shape)
        one, other = (left * jacobian.apply(right)).sum(), (jacobian.transpose(left) * right).sum()
        assert np.isclose(one, other, rtol=1e-9, atol=1e-12 * loop.size)


def test_an_equilibrium_is_a_fixed_point_of_the_pass():
    """a* is solved to 1e-9 in all layers at once; a pass adds that up over the layers, times their gains."""
    for _, loop, drive, _, _, _ in loops(12):
        point = loop.rate_map.solve_drive(drive)
        if not point.converged:
            continue
        start = loop.join(point.rates)
        passed = loop.join(loop.sweep(start, drive)[0])
        room = 1e-9 * sum((1 + loop.rate_map.gains().max()) ** k for k in range(len(loop.chip.layers) + 1)) * np.sqrt(loop.size)
        np.testing.assert_allclose(passed, start, rtol=0, atol=room)
