"""Accurate: the share of right answers in a run with its interval, beside the float network's on the same samples."""

from __future__ import annotations

from dataclasses import dataclass

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Accurate:
    """How many answers are right. Only samples that were compared count; intervals are 95 % (Wilson).

    Attributes:
        accuracy: share of right answers, 0 to 1.
        interval: its 95 % interval.
        samples: how many samples with a label were compared.
        float_accuracy: the float network's on the same samples; None without a model.
        agreement: share of samples in which both give the same answer; None without a model.
        recorded: further samples of a results file of which only the recorded answers are known, not how they came about.
        recorded_accuracy: share of right answers among those; None if there are none.

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
        """The accuracy, its interval, and the float network's, for the first line of a verdict."""
        low, high = self.interval
        beside = "" if self.float_accuracy is None else f", float {self.float_accuracy:.2%}"
        return f"{self.accuracy:.2%} ({low:.2%} … {high:.2%}){beside}"
