"""The contraction certificate: gains, loops, distances."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.bounds.loop_gains import loop_gain
from fsnn_lava.verify.comparator import compare
from tests.helpers.chip_networks import conv_network
from tests.helpers.naive_simulator import simulate
from tests.verify.test_comparator import loop_network


def test_a_small_matrix_is_certified_with_its_own_norm():
    weight = np.array([[30, -20], [25, 10]])
    chip = loop_network(weight.tolist())
    check = compare(simulate(chip, np.zeros((1, 1), np.uint8)), chip, np.zeros((1, 1), np.uint8)).check("contraction")
    assert check.numbers["state"] == "certified"
    assert check.numbers["loop_gain"] == pytest.approx(np.linalg.norm(weight / 100, 2), rel=1e-12)


def test_distance_bounds_of_several_layers_multiply_around_the_loop():
    chip = conv_network(2, per_channel=True)
    certificate = Certificate(RateMap(chip))
    gains = certificate.gains
    gain = loop_gain(chip, gains)
    assert gain == pytest.approx(gains[0, 1] * gains[1, 0])
    assert certificate.radius == pytest.approx(sqrt(gain))
