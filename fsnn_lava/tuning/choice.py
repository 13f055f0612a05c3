"""Which trials are worth looking at, which is the cheapest that keeps the accuracy, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from math import erf, sqrt

from fsnn_lava.errors import BadArgument
from fsnn_lava.tuning.trial import Trial


def check_resolution(samples: int, max_drop: float) -> None:
    """BadArgument if `samples` cannot tell a drop of `max_drop` percentage points: less than one answer."""
    if not 0.0 <= max_drop <= 100.0:
        raise BadArgument(f"--max-drop must lie between 0 and 100 percentage points, got {max_drop:g}")
    if max_drop * samples < 100.0:
        raise BadArgument(
            f"{samples} held-out samples cannot resolve a drop of {max_drop:g} percentage points: one answer is {100 / samples:.2g}; "
            f"use --max-drop {100 / samples:.2g} or more, or at least {-(-100 // max_drop) if max_drop else 'infinitely many'} --samples"
        )


def front(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that no other one beats: none is at least as accurate and as cheap in every count, and better in one; cheapest first."""
    made = [trial for trial in trials if not trial.failure]
    kept = [trial for trial in made if not any(_beats(other, trial) for other in made)]
    return sorted(kept, key=lambda trial: (trial.price(), trial.candidate.family, trial.candidate.steps))


def _beats(one: Trial, other: Trial) -> bool:
    pairs = list(zip(_counts(one), _counts(other), strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs) and (one.runs or not other.runs)


def _counts(trial: Trial) -> tuple[float, ...]:
    """What the front compares, all to be small."""
    return -trial.right, trial.chip_steps, trial.messages, trial.operations, float("inf") if trial.cores is None else trial.cores


def cheapest(trials: Sequence[Trial], *, max_drop: float, emulated: bool = False) -> Trial | None:
    """The cheapest trial that loses at most `max_drop` percentage points and that the board runs, or with `emulated` any."""
    able = [t for t in trials if not t.failure and 100.0 * t.drop <= max_drop and t.answer != "does not fit" and (t.runs or emulated)]
    return min(able, key=lambda trial: (trial.price(), -trial.right, trial.candidate.family, trial.candidate.steps), default=None)


def confidence(trial: Trial, *, max_drop: float) -> float:
    """How probable it is that new samples of the same kind show a drop of at most `max_drop` percentage points.

    Lost and gained answers are paired, so only they vary: their difference has a variance of at most their number, to which one is added
    where there are few. A normal approximation, for one trial: it does not allow for the choice among many.
    """
    margin = max_drop / 100.0 * trial.samples - (trial.lost - trial.gained)
    return 0.5 * (1.0 + erf(margin / sqrt(2.0 * (trial.lost + trial.gained + 1))))
