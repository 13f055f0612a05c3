"""A range of a measured or estimated quantity."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """A figure that is known to be between two numbers."""

    low: float
    high: float

    def times(self, factor: float) -> Range:
        """Return the range multiplied by `factor`."""
        return Range(self.low * factor, self.high * factor)

    def plus(self, other: Range) -> Range:
        """Return the range of the sum of two figures."""
        return Range(self.low + other.low, self.high + other.high)


def range_text(figure: Range | None, scale: float, unit: str) -> str:
    """Format a range as text, for example "0.64 ms", "8 … 12 ms", "98.8 … 1,930 µJ", or "unknown"."""
    if figure is None:
        return "unknown"
    low, high = (_three_digits(bound * scale) for bound in (figure.low, figure.high))
    return f"{low} {unit}" if low == high else f"{low} … {high} {unit}"


def _three_digits(number: float) -> str:
    """Format a number with three significant digits; from a thousand upwards, without an exponent."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if 1e3 <= rounded < 1e12 else f"{rounded:.3g}"
