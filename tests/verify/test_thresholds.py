"""Thresholds: invalid values are refused."""

from __future__ import annotations

import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.verify.thresholds import Thresholds


@pytest.mark.parametrize(("name", "value"), [("accuracy_min", 90.0), ("residual_max", -1.0), ("contraction", "yes")])
def test_a_threshold_that_makes_no_sense_is_refused(name, value):
    with pytest.raises(BadArgument, match=name):
        Thresholds(**{name: value})
