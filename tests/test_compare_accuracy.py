"""What was asked for of the answers is reached at the number itself, and missed just beyond it."""

from __future__ import annotations

from math import nextafter

import numpy as np
import pytest

from fsnn_lava.compare.accuracy import AccuracyCheck
from fsnn_lava.compare.thresholds import Thresholds
from tests.chip_networks import dense_network


def counted(**limits: float) -> AccuracyCheck:
    """Three of four right, one of two agreeing, two of five neurons dead."""
    check = AccuracyCheck(dense_network(1), Thresholds(**limits))
    check.samples, check.labelled, check.right, check.judged, check.agreeing = 4, 4, 3, 2, 1
    check.spiked = [np.array([True, False, True, False, True])]
    return check


@pytest.mark.parametrize(("name", "share", "beyond"), [("accuracy_min", 0.75, 1.0), ("agreement_min", 0.5, 1.0), ("dead_max", 0.4, 0.0)])
def test_a_limit_is_kept_at_its_own_number(name, share, beyond):
    assert counted(**{name: share}).check().passed
    assert not counted(**{name: nextafter(share, beyond)}).check().passed
