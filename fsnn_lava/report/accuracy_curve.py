"""The accuracy curve, after T/4, T/2, T and 2T steps: how many steps does the network need?

Every number on a page comes from one set of samples. If only some of the run's samples can be run again, the panel shows by how much
the accuracy on those *changes* compared with T steps, not an accuracy of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import NullLocator, PercentFormatter

from fsnn_lava.report import svg_figure
from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table
from fsnn_lava.verify.run_pair import mcnemar
from fsnn_lava.verify.wilson_interval import wilson_interval

KEY, TITLE = "steps", "How many steps does it need?"


@dataclass(frozen=True)
class StepsPoint:
    """Correct answers after a given number of steps, compared with the run itself on the same samples."""

    steps: int
    right: int
    samples: int
    lost: int  # correct after T steps, wrong after these
    gained: int  # wrong after T steps, correct after these

    @property
    def share(self) -> float:
        """The fraction of correct answers after this many steps."""
        return self.right / self.samples

    @property
    def change(self) -> float:
        """How much larger that fraction is than in the run itself."""
        return (self.gained - self.lost) / self.samples

    @property
    def by_chance(self) -> float:
        """The probability of a difference at least this large if both numbers of steps were equally good (McNemar, exact)."""
        return mcnemar(self.lost, self.gained)


def accuracy_curve_panel(evidence: Evidence) -> Panel:
    """Return the section that shows the accuracy after different numbers of steps."""
    run = evidence.run
    if run is None:
        return Panel(key=KEY, title=TITLE, missing="needs the network and the run, not only the verdict")
    points = measure_accuracy_curve(run)
    number = points[0].samples
    whole = run.labels is None or number == evidence.samples
    what = "Accuracy" if run.labels is not None else f"Share of answers equal to those after T = {run.steps} steps"
    note = " A recorded sequence cannot be extended." if run.events else ""
    on = f"all {number:,}" if number == evidence.samples else f"the first {number:,}"
    if whole:
        caption = f"{what} for different numbers of steps, on {on} samples; error bars are 95% intervals."
    else:
        caption = f"{what} for different numbers of steps, as the change from T = {run.steps} on {on} samples."
    caption += f" The samples were run again on the emulator.{note}"
    rows = [(p.steps, p.right, p.samples, p.share, *wilson_interval(p.right, p.samples), p.lost, p.gained) for p in points]
    data = Table(columns=("steps", "right", "samples", "share", "low", "high", "lost", "gained"), rows=rows)
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        conclusion=steps_conclusion(points, run.steps) if run.labels is not None else "",
        pictures=(draw_accuracy_curve(points, steps=run.steps, labelled=run.labels is not None, whole=whole),),
        data=data,
        numbers=_numbers(points, whole),
    )


def _numbers(points: list[StepsPoint], whole: bool) -> Table:
    if whole:
        rows = [(p.steps, p.right, p.samples, f"{p.share:.2%}", p.lost, p.gained) for p in points]
        return Table(columns=("steps", "right", "of", "accuracy", "lost against T", "gained against T"), rows=rows)
    changes = [(p.steps, f"{p.change:+.2%}", p.lost, p.gained, p.samples) for p in points]
    return Table(columns=("steps", "change against T", "lost", "gained", "of"), rows=changes)


def steps_conclusion(points: list[StepsPoint], steps: int) -> str:
    """Say what the accuracy curve shows: whether fewer steps suffice, or more would help. Empty if there is nothing to compare with."""
    fewer = [p for p in points if p.steps < steps]
    more = [p for p in points if p.steps > steps and p.change > 0 and p.by_chance < 0.05]
    if more:
        return f"More steps help: after {more[0].steps} instead of {steps}, {_net(more[0])}."
    equal = [p for p in fewer if p.change >= 0]
    if equal:
        return f"{_steps(equal[0].steps)} as well as {steps} on these {equal[0].samples:,} samples."
    close = [p for p in fewer if p.by_chance >= 0.05]
    if close:
        chance = f"which may be due to chance (p = {close[0].by_chance:.2g})"
        return f"{_steps(close[0].steps)} about as well as {steps}: {_net(close[0])}, {chance}."
    return f"Fewer steps cost accuracy: after {fewer[-1].steps} instead of {steps}, {_net(fewer[-1])}." if fewer else ""


def _steps(number: int) -> str:
    return f"{number} steps do" if number > 1 else "1 step does"


def _net(point: StepsPoint) -> str:
    number, more = abs(point.gained - point.lost), point.gained > point.lost
    return f"{number} {'more' if more else 'fewer'} of {point.samples:,} answers {'is' if number == 1 else 'are'} right"


def measure_accuracy_curve(run: RunEvidence) -> list[StepsPoint]:
    """Count correct answers (or, without labels, answers equal to the run's) after each number of steps."""
    samples = run.rerun_samples
    own = run.result.predictions[:samples]
    wanted = own if run.labels is None else run.labels[:samples]
    numbers = sorted({max(1, run.steps // 4), max(1, run.steps // 2), run.steps, *(() if run.events else (2 * run.steps,))})
    points = []
    for number in numbers:
        right = (own if number == run.steps else run.rerun(number, samples).predictions) == wanted
        lost, gained = (own == wanted) & ~right, (own != wanted) & right
        points.append(StepsPoint(number, *(int(np.count_nonzero(x)) for x in (right, np.ones(samples), lost, gained))))
    return points


def draw_accuracy_curve(points: list[StepsPoint], *, steps: int, labelled: bool, whole: bool) -> Picture:
    """Draw accuracy (or its change, unless `whole`) against steps, compared with the run; without labels, the fraction of equal answers."""
    figure = svg_figure.new_figure(340, 260)
    axes = figure.add_subplot()
    numbers = [p.steps for p in points]
    if whole:
        shares = np.array([p.share for p in points])
        ends = np.array([wilson_interval(p.right, p.samples) for p in points]).T
        axes.errorbar(
            numbers, shares, yerr=np.abs(ends - shares), color=svg_figure.BLUE, marker="o", markersize=6, capsize=4, elinewidth=1.2
        )
    else:
        shares = np.array([p.change for p in points])
        ends = np.stack([shares, shares])
        axes.plot(numbers, shares, color=svg_figure.BLUE, marker="o", markersize=6)
    sign = "" if whole else "+"
    falls = np.diff(shares, append=shares[-1]) < 0
    for p, value, fall in zip(points, shares, falls, strict=True):  # on the outer side of the curve
        offset = (8, 6) if fall else (8, -14)
        axes.annotate(f"{value:{sign}.1%}", (p.steps, value), xytext=offset, textcoords="offset points", color=svg_figure.INK)
    axes.grid(visible=False, axis="y")
    axes.axvline(steps, color=svg_figure.SOFT, linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xticks(numbers, [f"{n}\n{_share_of(n, steps)}" for n in numbers])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(numbers[0] / 1.25, numbers[-1] * 1.6)
    low, high = float(ends[0].min()), float(ends[1].max())
    bottom = low - 0.08 * (high - low + 0.02)
    axes.set_ylim(max(0.0, bottom) if whole else bottom, high + 0.12 * (high - low + 0.05))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0 if high - low > 0.06 else 1, symbol="%"))
    axes.set_yticks([tick for tick in axes.get_yticks() if tick < 1.0 + 1e-9 and axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]])
    axes.set_xlabel("steps")
    what = "accuracy" if labelled else f"same answer as after {steps}"
    axes.set_ylabel(what if whole else f"change of {what}")
    svg_figure.add_tip_columns(axes, svg_figure.columns_around(numbers, logarithmic=True), [_tip(p) for p in points])
    alt = "Accuracy against steps: " + ", ".join(f"{value:{sign}.1%} after {p.steps}" for p, value in zip(points, shares, strict=True))
    return Picture(name=KEY, figure=figure, alt=alt)


def _tip(point: StepsPoint) -> str:
    return f"{point.steps} steps: {point.right} of {point.samples} right; compared with T, {point.lost} lost and {point.gained} gained"


def _share_of(steps: int, total: int) -> str:
    for name, value in (("T/4", total // 4), ("T/2", total // 2), ("T", total), ("2T", 2 * total)):
        if steps == value:
            return name
    return ""
