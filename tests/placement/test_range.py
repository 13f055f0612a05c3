"""A figure with two bounds, as text."""

from __future__ import annotations

import pytest

from fsnn_lava.placement.range import Range, range_text


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.64, 0.64, "0.64 µJ"),
        (8.0, 12.0, "8 … 12 µJ"),
        (98.84, 1934.0, "98.8 … 1,930 µJ"),
        (999.6, 11_449.0, "1,000 … 11,400 µJ"),
        (0, 2e-5, "0 … 2e-05 µJ"),
    ],
)
def test_three_digits_and_no_exponent_for_large_numbers(low, high, said):
    assert range_text(Range(low, high), 1.0, "µJ") == said
