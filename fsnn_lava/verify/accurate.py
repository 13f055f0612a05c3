"""Accurate: how many answers in a run are correct, with an interval, compared with the float network on the same samples."""

from __future__ import annotations

from dataclasses import dataclass

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Accurate:
    """How many answers are correct. Only samples that were compared are counted; intervals are 95 % (Wilson).

    Attributes:
        accuracy: fraction of correct answers, 0 to 1.
        interval: its 95 % interval.
        samples: number of samples with a label that were compared.
        float_accuracy: accuracy of the float network on the same samples; None without a model.
        agreement: fraction of samples for which both give the same answer; None without a model.
        recorded: number of further samples in a results file for which only the answers were recorded, so they cannot be verified.
        recorded_accuracy: fraction of correct answers among those; None if there are none.

    Examples:
        >>> accurate = fl.compare(result, chip, pixels, labels=labels).accurate
        >>> low, high = accurate.interval
    """

    accuracy: float
    interval: Interval
    samples: int
    float_accuracy: float | None = None
    agreement: float | None = None
    recorded: int = 0
    recorded_accuracy: float | None = None

    def __str__(self) -> str:
        return self.short()

    def short(self) -> str:
        """Return the accuracy, its interval, and the float network's accuracy, for the first line of a verdict."""
        low, high = self.interval
        beside = "" if self.float_accuracy is None else f", float {self.float_accuracy:.2%}"
        return f"{self.accuracy:.2%} ({low:.2%} … {high:.2%}){beside}"
