"""A range of a measured or estimated quantity."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """A figure that is known to be between two numbers."""

    low: float
    high: float

    def times(self, factor: float) -> Range:
        """The range multiplied by `factor`."""
        return Range(self.low * factor, self.high * factor)

    def plus(self, other: Range) -> Range:
        """The range of the sum of two figures."""
        return Range(self.low + other.low, self.high + other.high)


def range_text(figure: Range | None, scale: float, unit: str) -> str:
    """For example "0.64 ms", "8 … 12 ms", or "unknown"."""
    if figure is None:
        return "unknown"
    low, high = f"{figure.low * scale:.3g}", f"{figure.high * scale:.3g}"
    return f"{low} {unit}" if low == high else f"{low} … {high} {unit}"
