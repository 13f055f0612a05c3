"""Solving for a*: the tolerance, the methods that are tried, and the cost."""

from __future__ import annotations

from math import nextafter
from types import SimpleNamespace

import numpy as np

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify import equilibrium
from fsnn_lava.verify.equilibrium import Equilibria, solve_equilibria
from tests.helpers.chip_networks import dense_network


def test_an_equilibrium_is_found_at_a_billionth_and_not_beyond():
    assert list(Equilibria((), np.array([0.0, 1e-9, nextafter(1e-9, 1.0)])).converged) == [True, True, False]


def test_the_rounds_in_float32_end_where_float64_does():
    """Both stop at |f(a) - a| <= 1e-9, and the gains leave at least a tenth of a change: they are within 2e-8 of each other."""
    chip = dense_network(3, size=12, inputs=5)
    rate_map, values = RateMap(chip), np.random.default_rng(3).integers(0, 256, (4, 5)).astype(np.uint8)
    assert rate_map.gain() < 0.9
    drive = rate_map.drive(values)
    point = solve_equilibria(rate_map, drive, tuple(np.full((4, *layer.shape), 0.25) for layer in chip.layers))
    exact = rate_map.solve_drive(drive)
    assert point.converged.all() and exact.converged
    for ours, theirs in zip(point.rates, exact.rates):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-8)


def test_other_tries_are_used_only_where_they_are_closer(monkeypatch):
    """The rounds solve sample 0, a start from rest sample 1; the damped iteration is closer for sample 3, not for sample 2."""
    tries = {
        "_in_rounds": Equilibria((np.zeros((4, 2)),), np.array([0.0, 0.5, 0.5, 0.5])),
        "_from_rest": Equilibria((np.full((3, 2), 0.5),), np.array([0.0, 0.5, 0.5])),
        "_solve_from": Equilibria((np.ones((2, 2)),), np.array([0.5, 0.25])),
    }
    for name, found in tries.items():
        monkeypatch.setattr(equilibrium, name, lambda *_, found=found: found)
    point = solve_equilibria(SimpleNamespace(), (np.zeros((4, 2)),), (np.ones((4, 2)),))
    assert list(point.residual) == [0.0, 0.0, 0.5, 0.25]
    assert point.rates[0].tolist() == [[0.0, 0.0], [0.5, 0.5], [0.0, 0.0], [1.0, 1.0]]
