"""Accuracy by class: the fraction of correct answers in every class, with its interval."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from fsnn_lava.report import svg_figure
from fsnn_lava.report.confusion import confusion_counts
from fsnn_lava.report.evidence import Evidence
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table
from fsnn_lava.verify.wilson_interval import wilson_interval

KEY, TITLE = "classes", "Accuracy by class"
_DRAWN = 30  # classes; if there are more, only the worst are drawn
_NAME = 18  # characters of a class name


def class_accuracy_panel(evidence: Evidence) -> Panel:
    """Return the section that shows the accuracy of every class."""
    matrix = confusion_counts(evidence)
    if matrix is None:
        return Panel(key=KEY, title=TITLE, missing="there are no labels")
    rows = _class_rows(evidence, matrix)
    if not rows:
        return Panel(key=KEY, title=TITLE, missing="no sample has a label")
    worst = min(rows, key=lambda row: row[3])
    drawn = rows if len(rows) <= _DRAWN else sorted(rows, key=lambda row: row[3])[:_DRAWN]
    caption = "The share of right answers among the samples of each class. Error bars are 95% intervals."
    if len(drawn) < len(rows):
        caption += f" The {_DRAWN} worst of {len(rows)} classes are drawn."
    table = Table(columns=("class", "right", "samples", "share", "low", "high"), rows=rows)
    shown = Table(columns=("class", "right", "of", "share", "95% interval"), rows=[_row_text(*row) for row in rows])
    conclusion = f"The worst class is {worst[0]}: {worst[1]} of {worst[2]} right." if worst[3] < 1.0 else "All answers are right."
    return Panel(key=KEY, title=TITLE, caption=caption, conclusion=conclusion, pictures=(_draw(drawn),), data=table, numbers=shown)


ClassRow = tuple[str, int, int, float, float, float]  # name, right, samples, share, low, high


def _class_rows(evidence: Evidence, matrix: NDArray[np.int64]) -> list[ClassRow]:
    """Return one row for every class that has samples."""
    found = []
    for index, counts in enumerate(matrix):
        right, total = int(counts[index]), int(counts.sum())
        if total:
            found.append((evidence.class_name(index), right, total, right / total, *wilson_interval(right, total)))
    return found


def _row_text(name: str, right: int, total: int, share: float, low: float, high: float) -> tuple[str, int, int, str, str]:
    return name, right, total, f"{share:.1%}", f"{low:.1%} … {high:.1%}"


def _draw(rows: list[ClassRow]) -> Picture:
    figure = svg_figure.new_figure(340, 60 + 25 * max(3, len(rows)))
    axes = figure.add_subplot()
    places = np.arange(len(rows))
    shares, lows, highs = (np.array([row[i] for row in rows]) for i in (3, 4, 5))
    bars = axes.barh(places, shares, color=svg_figure.BLUE, height=0.64, alpha=0.85)
    axes.errorbar(
        shares, places, xerr=np.abs(np.stack([shares - lows, highs - shares])), fmt="none", ecolor=svg_figure.INK, elinewidth=1.1, capsize=3
    )
    for bar, row in zip(bars, rows, strict=True):
        name, right, total, share, interval = _row_text(*row)
        svg_figure.add_tip(bar, f"{name}: {right} of {total} right, {share} ({interval})")
    axes.set_yticks(places, [row[0] if len(row[0]) <= _NAME else row[0][: _NAME - 1] + "…" for row in rows])
    axes.set_ylim(max(3, len(rows)) - 0.4, -0.6)
    axes.set_xlim(0, 1.0)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("right answers")
    alt = "Share of right answers by class: " + ", ".join(f"{row[0]} {row[3]:.1%}" for row in rows)
    return Picture(name=KEY, figure=figure, alt=alt)
