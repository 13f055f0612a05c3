"""Plot the front of a search: accuracy against energy, or against operations if the energy is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from pathlib import Path

from matplotlib.figure import Figure

from fsnn_lava.errors import BadArgument
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.report import svg_figure
from fsnn_lava.tuning.trial import Trial

SUFFIXES = (".png", ".svg", ".pdf")
MOST_SHOWN = 0.12  # accuracy below the best that the figure shows; lower trials are of no interest


def write_front(path: Path, trials: Sequence[Trial], best: Sequence[Trial], chosen: Trial | None, *, reference: float) -> None:
    """Plot all trials, the Pareto front `best` and the chosen trial to a file."""
    check_front_plot_suffix(path)
    with svg_figure.report_figure_style(), atomic_path(path) as temporary:
        draw_front(trials, best, chosen, reference=reference).savefig(
            temporary, format=path.suffix[1:], dpi=150, facecolor="white", bbox_inches="tight"
        )


def check_front_plot_suffix(path: Path) -> None:
    """Raise BadArgument unless the front can be plotted to a file with this suffix."""
    if path.suffix not in SUFFIXES:
        raise BadArgument(f"{path}: the name of a picture must end in {', '.join(SUFFIXES)}")


def draw_front(trials: Sequence[Trial], best: Sequence[Trial], chosen: Trial | None, *, reference: float) -> Figure:
    """Plot all trials as dots, those on the front larger, the chosen one circled, with a line for the float network."""
    made = [trial for trial in trials if not trial.failure]
    known = all(trial.energy is not None for trial in made)
    figure = svg_figure.new_figure(460, 300)
    axes = figure.add_subplot()
    for encoding, colour in (("rate", svg_figure.BLUE), ("delta", svg_figure.ORANGE)):
        for group, size, alpha in (("all", 14, 0.25), ("front", 34, 1.0)):
            shown = [t for t in (best if group == "front" else made) if t.candidate.encoding == encoding]
            label = f"{encoding}, not beaten" if group == "front" and shown else None
            axes.scatter(
                [_place(t, known) for t in shown], [100 * t.accuracy for t in shown], s=size, color=colour, alpha=alpha, label=label
            )
    axes.axhline(100 * reference, color=svg_figure.SOFT, linewidth=1.0, linestyle="--", label="float network")
    if chosen is not None:
        at = (_place(chosen, known), 100 * chosen.accuracy)
        axes.scatter(*at, s=150, facecolors="none", edgecolors=svg_figure.RED, linewidths=1.8, label="chosen")
    svg_figure.logarithmic_figure_axis(axes, "x", subs=(1.0, 2.0, 5.0))
    axes.set_xlabel("estimated energy per sample without host I/O, µJ (middle of its range)" if known else "synaptic operations per sample")
    axes.set_ylabel("accuracy on held-out training samples, %")
    axes.set_ylim(*_accuracy_range([reference, *(trial.accuracy for trial in made)]))
    axes.legend(loc="best")
    return figure


def _accuracy_range(accuracies: Sequence[float]) -> tuple[float, float]:
    """Return the axis limits in percent: all accuracies with a margin, except those more than MOST_SHOWN below the best."""
    highest = max(accuracies)
    lowest = max(min(accuracies), highest - MOST_SHOWN)
    margin = max(0.001, 0.08 * (highest - lowest))
    return 100 * (lowest - margin), 100 * (highest + margin)


def _place(trial: Trial, known: bool) -> float:
    return 1e6 * sqrt(trial.energy[0] * trial.energy[1]) if known and trial.energy is not None else max(1.0, trial.operations)
