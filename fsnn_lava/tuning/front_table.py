"""Print the front of a search as a table."""

from __future__ import annotations

from collections.abc import Sequence

from fsnn_lava.placement.range import Range, range_text
from fsnn_lava.tuning.choice import confidence
from fsnn_lava.tuning.trial import Trial

_HEAD = ("", "accuracy", "chip steps", "messages", "operations", "cores", "time", "energy", "candidate")


def front_table(trials: Sequence[Trial], chosen: Trial | None, *, max_drop: float) -> str:
    """Return a table with one line per trial; * marks the chosen one, - those that keep the accuracy but cannot run on the board."""
    rows = [_HEAD] + [_row(trial, chosen, max_drop) for trial in trials]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) if column in (0, len(_HEAD) - 1) else cell.rjust(width) for column, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    )


def chosen_sentence(trial: Trial, reference: float, *, max_drop: float) -> str:
    """Return the sentence below the table: what was chosen from the front, its accuracy, and how certain the choice is."""
    points = 100.0 * trial.drop
    change = f"{abs(points):.2f} points {'below' if points > 0 else 'above'}" if points else "the same as"
    return (
        f"{trial.candidate}: {trial.accuracy:.2%}, {change} the float network's {reference:.2%} ({trial.lost} answers lost, "
        f"{trial.gained} gained); over all samples of this kind the drop is at most {max_drop:g} points with a "
        f"confidence of about {confidence(trial, max_drop=max_drop):.0%}, not accounting for the choice among many"
    )


def _row(trial: Trial, chosen: Trial | None, max_drop: float) -> tuple[str, ...]:
    keeps = 100.0 * trial.drop <= max_drop
    mark = "*" if trial is chosen else "-" if keeps and not trial.runs else "+" if keeps else ""
    return (
        mark,
        f"{trial.accuracy:.2%}",
        f"{trial.chip_steps}",
        f"{trial.messages:,.0f}",
        f"{trial.operations:,.0f}",
        "–" if trial.cores is None else f"{trial.cores}",
        range_text(_range(trial.time), 1e3, "ms"),
        range_text(_range(trial.energy), 1e6, "µJ"),
        str(trial.candidate),
    )


def _range(pair: tuple[float, float] | None) -> Range | None:
    return None if pair is None else Range(*pair)
