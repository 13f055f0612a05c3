"""Accuracy after T/4, T/2, T and 2T steps: how many steps does the network need?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import NullLocator, PercentFormatter

from fsnn_lava.report import canvas
from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.panel import Panel, Picture, Table
from fsnn_lava.verify.checks.accuracy import wilson_interval

KEY, TITLE = "steps", "How many steps does it need?"


@dataclass(frozen=True)
class StepsPoint:
    """Correct answers after a number of steps."""

    steps: int
    right: int
    samples: int

    @property
    def share(self) -> float:
        return self.right / self.samples


def accuracy_curve_panel(evidence: Evidence) -> Panel:
    run = evidence.run
    if run is None:
        return Panel(key=KEY, title=TITLE, missing="needs the network and the run, not only the verdict")
    points = measure_accuracy_curve(run)
    what = "Accuracy" if run.labels is not None else f"Share of answers equal to those after T = {run.steps} steps,"
    note = " A recorded sequence cannot be extended." if run.events else ""
    again = f"on the first {points[0].samples} samples, run again on the emulator"
    caption = f"{what} for different numbers of steps, {again}. Error bars are 95% intervals.{note}"
    rows = [(p.steps, p.right, p.samples, p.share, *wilson_interval(p.right, p.samples)) for p in points]
    data = Table(columns=("steps", "right", "samples", "share", "low", "high"), rows=rows)
    return Panel(key=KEY, title=TITLE, caption=caption, pictures=(_draw(run, points),), data=data)


def measure_accuracy_curve(run: RunEvidence) -> list[StepsPoint]:
    """Correct answers (or, without labels, answers equal to the run's) after each number of steps."""
    samples = run.rerun_samples
    wanted = run.result.predictions[:samples] if run.labels is None else run.labels[:samples]
    numbers = sorted({max(1, run.steps // 4), max(1, run.steps // 2), run.steps, *(() if run.events else (2 * run.steps,))})
    answers = [run.result.predictions[:samples] if n == run.steps else run.rerun(n, samples).predictions for n in numbers]
    return [StepsPoint(n, int(np.count_nonzero(a == wanted)), samples) for n, a in zip(numbers, answers, strict=True)]


def _draw(run: RunEvidence, points: list[StepsPoint]) -> Picture:
    figure = canvas.new_figure(340, 260)
    axes = figure.add_subplot()
    steps, shares = [p.steps for p in points], np.array([p.share for p in points])
    ends = np.array([wilson_interval(p.right, p.samples) for p in points]).T
    axes.errorbar(steps, shares, yerr=np.abs(ends - shares), color=canvas.BLUE, marker="o", markersize=6, capsize=4, elinewidth=1.2)
    for p in points:
        axes.annotate(f"{p.share:.1%}", (p.steps, p.share), xytext=(8, -13), textcoords="offset points", color=canvas.INK)
    axes.axvline(run.steps, color=canvas.SOFT, linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xticks(steps, [f"{n}\n{_share_of(n, run.steps)}" for n in steps])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(steps[0] / 1.25, steps[-1] * 1.6)
    low, high = float(ends[0].min()), float(ends[1].max())
    axes.set_ylim(max(0.0, low - 0.08 * (high - low + 0.02)), min(1.03, high + 0.12 * (high - low + 0.05)))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0 if high - low > 0.06 else 1, symbol="%"))
    axes.set_yticks([tick for tick in axes.get_yticks() if tick < 1.0 + 1e-9 and axes.get_ylim()[0] <= tick])
    axes.set_xlabel("steps")
    axes.set_ylabel("accuracy" if run.labels is not None else f"same answer as after {run.steps}")
    alt = "Accuracy against steps: " + ", ".join(f"{p.share:.1%} after {p.steps}" for p in points)
    return Picture(name=KEY, figure=figure, alt=alt)


def _share_of(steps: int, total: int) -> str:
    for name, value in (("T/4", total // 4), ("T/2", total // 2), ("T", total), ("2T", 2 * total)):
        if steps == value:
            return name
    return ""
