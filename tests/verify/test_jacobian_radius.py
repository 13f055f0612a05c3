"""The spectral radius at an equilibrium is that of the neurons that are active there."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.equilibrium import solve_equilibria
from fsnn_lava.verify.jacobian_radius import jacobian_radius
from tests.verify.test_comparator import loop_network


def test_the_local_radius_is_that_of_the_active_neurons():
    weight = np.array([[30, -20], [25, 10]])
    chip = loop_network(weight.tolist())
    rate_map = RateMap(chip)
    drive = rate_map.drive(np.zeros((1, 1), np.uint8))
    point = solve_equilibria(rate_map, drive, (np.zeros((1, 2)),))
    assert ((point.rates[0] > 0) & (point.rates[0] < 1)).all()
    wanted = np.abs(np.linalg.eigvals(weight / 100)).max()
    assert jacobian_radius(rate_map, point.rates, drive)[0] == pytest.approx(wanted, rel=0.05)  # a complex pair: growth wobbles around it


def test_a_saturated_neuron_passes_no_change_on():
    chip = loop_network([[30, -20], [25, 10]], bias=(40, 500))
    rate_map = RateMap(chip)
    drive = rate_map.drive(np.zeros((1, 1), np.uint8))
    point = solve_equilibria(rate_map, drive, (np.zeros((1, 2)),))
    assert point.rates[0][0] == pytest.approx([(40 - 20) / (100 - 30), 1.0], abs=1e-8)
    assert jacobian_radius(rate_map, point.rates, drive)[0] == pytest.approx(0.30)
