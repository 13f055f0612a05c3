"""The shift check (E12): its bound, its limit, and a network of another model."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import fsnn_lava as fl
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.checks.shift import ShiftCheck
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.float_network import FloatNetwork
from fsnn_lava.verify.thresholds import Thresholds
from tests.verify.test_float_network import model, pixels


def test_the_share_of_the_bound_is_the_share():
    """E12 is far from tight here: a share of 1 would be a wrong one."""
    net = model("dense", limit=0.5)
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, bits=8)
    numbers = compare(fl.run(chip, values), chip, values, model=net).check("shift").numbers
    assert 0.01 < numbers["share_of_bound"] < 0.95


def test_the_shift_keeps_its_bound_and_uses_some_of_it():
    net = model("dense", limit=0.5)
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, bits=3)
    numbers = compare(fl.run(chip, values), chip, values, model=net).check("shift").numbers
    assert numbers["shift_max"] > 0
    assert 0 < numbers["share_of_bound"] <= 1
    failed = compare(fl.run(chip, values), chip, values, model=net, thresholds=Thresholds(shift_max=numbers["shift_max"] / 2)).failed
    assert [check.name for check in failed] == ["shift"]


def test_a_shift_as_large_as_its_limit_is_allowed():
    """Two layers, three samples; in the third one rate of the second layer moved by 1/2."""
    net = model("plain")
    values = pixels(net, 3)
    chip = fl.quantise(net, calibration=values)
    rate_map = RateMap(chip)
    still = tuple(np.zeros((3, *layer.shape)) for layer in chip.layers)
    moved = (still[0], still[1].copy())
    moved[1][2, 0] = 0.5
    for limit, samples in ((0.25, [12]), (0.5, [])):
        check = ShiftCheck(chip, FloatNetwork(net, chip), rate_map, SimpleNamespace(certified=False), Thresholds(shift_max=limit))
        batch = SimpleNamespace(sample=lambda row: 10 + row)
        check.add(batch, Equilibria(moved, np.zeros(3)), Equilibria(still, np.zeros(3)), rate_map.drive(values))
        assert [o["sample"] for o in check.offenders] == samples
        assert check.check().ok == (not samples)


def test_a_network_of_another_model_fails_the_shift():
    net, other = model("dense"), model("dense", seed=1)
    values = pixels(net)
    chip = fl.quantise(other, calibration=values)
    verdict = compare(fl.run(chip, values), chip, values, model=net)
    assert [check.name for check in verdict.failed] == ["shift"]
