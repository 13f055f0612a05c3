"""The restricted feedback weight where its formula breaks down: a norm of zero."""

from __future__ import annotations

import numpy as np

from fsnn_lava.compiled.feedback import _quotient


def test_division_by_zero_gives_nan():
    assert _quotient(6.0, -4.0) == -1.5
    assert np.isnan(_quotient(6.0, 0.0)) and np.isnan(_quotient(0.0, 0.0))
