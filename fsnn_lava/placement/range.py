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
