"""The confusion matrix: which classes are mistaken for which."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from fsnn_lava.report import svg_figure
from fsnn_lava.report.evidence import Evidence
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table

KEY, TITLE = "confusion", "Confusion matrix"
_NUMBERED = 20  # with more classes, the counts are only in the CSV file
_LISTED = 200  # pairs of label and answer in the table
_NAME = 14  # characters of a class name
_STRONGEST = 0.9
_DARK_TEXT = 0.7  # up to this opacity, the number has the text colour of the page


def confusion_panel(evidence: Evidence) -> Panel:
    """Return the section that shows the confusion matrix."""
    matrix = confusion_counts(evidence)
    if matrix is None:
        return Panel(key=KEY, title=TITLE, missing="there are no labels")
    names = [evidence.class_name(i) for i in range(len(matrix))]
    total, right = int(matrix.sum()), int(np.trace(matrix))
    worst = np.argwhere((matrix > 0) & ~np.eye(len(matrix), dtype=bool))
    worst = worst[np.argsort(-matrix[tuple(worst.T)], kind="stable")][:3]
    mistakes = ", ".join(f"{names[i]} taken for {names[j]} ({matrix[i, j]})" for i, j in worst)
    caption = (
        f"{right:,} of {total:,} correct. Rows are labels, columns are answers; the stronger the colour, the larger the share of its row."
    )
    rows = [(names[i], names[j], int(matrix[i, j])) for i in range(len(matrix)) for j in range(len(matrix))]
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        conclusion=f"Most frequent {'errors' if len(worst) > 1 else 'error'}: {mistakes}." if mistakes else "",
        pictures=(_draw(matrix, names),),
        data=Table(columns=("label", "answer", "samples"), rows=rows),
        numbers=Table(columns=("label", "answer", "samples"), rows=[row for row in rows if row[2]][:_LISTED]),
    )


def confusion_counts(evidence: Evidence) -> NDArray[np.int64] | None:
    """Return the confusion counts [label, answer] of the whole run if the verdict has them, else of the available samples."""
    kept = evidence.series("accuracy", "confusion")
    if kept is not None and np.sum(kept) > 0:
        return np.asarray(kept, dtype=np.int64)
    run = evidence.run
    if run is None or run.labels is None:
        return None
    classes = run.chip.readout.classes
    matrix = np.zeros((classes, classes), dtype=np.int64)
    inside = (run.labels >= 0) & (run.labels < classes)
    np.add.at(matrix, (run.labels[inside], run.result.predictions[inside]), 1)
    return matrix


def _draw(matrix: NDArray[np.int64], names: list[str]) -> Picture:
    classes = len(matrix)
    share = matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))
    strength = np.where(matrix > 0, 0.10 + (_STRONGEST - 0.10) * np.sqrt(share), 0.0)
    figure = svg_figure.new_figure(340, 330)
    axes = figure.add_subplot()
    colours = np.where(np.eye(classes, dtype=bool)[..., None], to_rgba(svg_figure.BLUE), to_rgba(svg_figure.RED))
    colours = np.concatenate([colours[..., :3], strength[..., None]], axis=-1)
    if classes <= _NUMBERED:
        for i, j in np.argwhere(matrix > 0):
            colour = svg_figure.BLUE if i == j else svg_figure.RED
            square = axes.add_patch(_square(i, j, colour, float(strength[i, j])))
            said = "answered right" if i == j else f"taken for {names[j]}"
            svg_figure.add_tip(square, f"{names[i]} {said}: {matrix[i, j]} of {matrix[i].sum()}")
            text = svg_figure.BRIGHT if strength[i, j] > _DARK_TEXT else svg_figure.INK
            axes.text(j, i, str(matrix[i, j]), ha="center", va="center", color=text, fontsize=min(9.5, 130 / classes), clip_on=True)
    else:
        axes.imshow(colours, interpolation="nearest")
    axes.set_xlim(-0.5, classes - 0.5)
    axes.set_ylim(classes - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    if classes <= _NUMBERED:
        shown = [name if len(name) <= _NAME else name[: _NAME - 1] + "…" for name in names]
        axes.set_xticks(
            range(classes),
            shown,
            rotation=0 if max(map(len, shown)) <= 2 else 60,
            ha="center" if max(map(len, shown)) <= 2 else "right",
            rotation_mode="anchor",
        )
        axes.set_yticks(range(classes), shown)
    axes.set_xlabel("answer")
    axes.set_ylabel("label")
    return Picture(
        name=KEY, figure=figure, alt=f"Confusion matrix of {classes} classes: {int(np.trace(matrix))} of {int(matrix.sum())} correct."
    )


def _square(row: int, column: int, colour: str, alpha: float) -> Rectangle:
    return Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, facecolor=colour, alpha=alpha, linewidth=0)
