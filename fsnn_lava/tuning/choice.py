"""Choose among trials: the Pareto front, the cheapest trial that keeps the accuracy, and how certain that choice is."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, erf, sqrt

from fsnn_lava.errors import BadArgument
from fsnn_lava.tuning.trial import Trial


def check_choice_resolution(samples: int, max_drop: float) -> None:
    """Raise BadArgument if there are too few samples to choose by: `max_drop` percentage points amount to less than one answer."""
    if not 0.0 <= max_drop <= 100.0:
        raise BadArgument(f"--max-drop must lie between 0 and 100 percentage points, got {max_drop:g}")
    if max_drop * samples < 100.0:
        enough = f", or at least {ceil(100.0 / max_drop)} --samples" if max_drop else ""
        raise BadArgument(
            f"{samples} held-out samples cannot resolve a drop of {max_drop:g} percentage points: one answer is {100 / samples:.2g}; "
            f"use --max-drop {100 / samples:.2g} or more{enough}"
        )


def front(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials to choose from, cheapest first: the Pareto front, which no other trial beats in accuracy and all counts."""
    made = [trial for trial in trials if not trial.failure]
    kept = [trial for trial in made if not any(_beats(other, trial) for other in made)]
    return sorted(kept, key=lambda trial: (trial.price(), trial.candidate.family, trial.candidate.steps))


def _beats(one: Trial, other: Trial) -> bool:
    pairs = list(zip(_counts(one), _counts(other), strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs) and (one.runs or not other.runs)


def _counts(trial: Trial) -> tuple[float, ...]:
    """Return the counts that the front compares; smaller is better."""
    return -trial.right, trial.chip_steps, trial.messages, trial.operations, float("inf") if trial.cores is None else trial.cores


def cheapest(trials: Sequence[Trial], *, max_drop: float, emulated: bool = False) -> Trial | None:
    """Return the cheapest trial that loses at most `max_drop` percentage points and runs on the board; with `emulated`, it need not."""
    able = [t for t in trials if not t.failure and 100.0 * t.drop <= max_drop and t.answer != "does not fit" and (t.runs or emulated)]
    return min(able, key=lambda trial: (trial.price(), -trial.right, trial.candidate.family, trial.candidate.steps), default=None)


def confidence(trial: Trial, *, max_drop: float) -> float:
    """Estimate the probability that the drop over all samples of the same kind is at most `max_drop` percentage points.

    Answers are paired, so only lost and gained ones vary: the variance of their difference is at most their number, to which one is added
    in case there are few. This is a normal approximation for one trial, and it ignores the choice among many.
    """
    margin = max_drop / 100.0 * trial.samples - (trial.lost - trial.gained)
    return 0.5 * (1.0 + erf(margin / sqrt(2.0 * (trial.lost + trial.gained + 1))))
