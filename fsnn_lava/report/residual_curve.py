"""The residual curve: ||f(a[t]) - a[t]|| against t with its bound (E11), and the distance to the equilibrium. Does the network settle?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.rate_map import rate_vector_length
from fsnn_lava.ir.result import Result
from fsnn_lava.report import svg_figure
from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table
from fsnn_lava.verify.bounds.residual_bound import delta_residual_bound, residual_bound

KEY, TITLE = "residual", "Does it settle?"
POINTS = 12  # numbers of steps at which the residual is measured
_FLOOR = 1e-12  # smallest value on the logarithmic axis


@dataclass(frozen=True)
class Moment:
    """The state of some samples after t steps: Euclidean lengths over all neurons, [B]."""

    steps: int
    residual: NDArray[np.float64]
    bound: NDArray[np.float64] | None
    distance: NDArray[np.float64]


def _moments(steps: int, *, twice: bool) -> list[int]:
    """Return about POINTS numbers of steps, 1 … T (or 2T), evenly spaced on a log axis, including T."""
    last = 2 * steps if twice else steps
    grid = {int(n) for n in np.rint(np.geomspace(1, last, POINTS))}
    return sorted({n for n in grid if not 0.85 < n / steps < 1.15} | {steps})


def residual_curve_panel(evidence: Evidence) -> Panel:
    """Return the section that plots the residual over the steps."""
    run = evidence.run
    if run is None:
        return Panel(key=KEY, title=TITLE, missing="needs the network and the run, not only the verdict")
    bounded = all(layer.reset == "subtract" for layer in run.chip.layers)
    moments = [_measure(run, run.rerun(t, run.curve_samples), bounded) for t in _moments(run.steps, twice=not run.events)]
    own = _measure(run, run.result.part(slice(0, run.curve_samples)), bounded)
    picture = _draw(run, moments, own)
    source = "final potentials and late spikes (E11)" if run.chip.delta is None else "dead bands and messages in flight (E16)"
    bound = f"The wide line behind it is its bound from {source}, which it may touch. "
    caption = (
        "Residual ‖f(a[t]) − a[t]‖ after t steps (Euclidean, all neurons): how far the rates are from reproducing themselves. "
        f"a* is the equilibrium. {bound if bounded else 'Reset to zero discards charge, so there is no bound. '}"
        f"Mean of {run.curve_samples} samples (range shaded), run again on the emulator. The square is the run itself, T = {run.steps}."
    )
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        conclusion=_conclusion(evidence),
        pictures=(picture,),
        data=_table(moments),
        numbers=Table(columns=("steps", "residual", "smallest", "largest", "bound", "distance"), rows=[_row(m) for m in moments]),
    )


def _conclusion(evidence: Evidence) -> str:
    """Say whether the run settles, and how many steps that takes."""
    settled = evidence.verdict.settled
    if settled is None:
        return ""
    if settled.answer == "yes":
        return "It has settled: every rate is as close to the equilibrium as the run can resolve."
    outlook = settled.outlook()
    return f"{'Partly' if settled.answer == 'partly' else 'It has not settled'}: {outlook}." if outlook else ""


def _row(moment: Moment) -> tuple[float | str, ...]:
    residual, bound = moment.residual, "–" if moment.bound is None else float(moment.bound.mean())
    return moment.steps, float(residual.mean()), float(residual.min()), float(residual.max()), bound, float(moment.distance.mean())


def _tip(moment: Moment) -> str:
    bound = "" if moment.bound is None else f", bound {moment.bound.mean():.3g}"
    return f"t = {moment.steps}: residual {moment.residual.mean():.3g}{bound}, distance to a* {moment.distance.mean():.3g}"


def _measure(run: RunEvidence, result: Result, bounded: bool) -> Moment:
    drive = run.rate_map.drive(run.values_of(result.steps, result.samples))
    rates = result.rates
    residual = run.rate_map.residual(rates, drive)
    bound = None
    if bounded:
        batch = run.batch(result)
        most = residual_bound if run.chip.delta is None else delta_residual_bound
        bound = rate_vector_length(tuple(most(batch, layer) for layer in run.chip.layers))
    distance = rate_vector_length(tuple(e - a for e, a in zip(run.equilibria.rates, rates, strict=True)))
    return Moment(result.steps, residual, bound, distance)


def _draw(run: RunEvidence, moments: list[Moment], own: Moment) -> Picture:
    figure = svg_figure.new_figure(340, 260)
    axes = figure.add_subplot()
    steps = [m.steps for m in moments]
    measured = np.maximum([m.residual.mean() for m in moments], _FLOOR)
    low, high = (np.maximum([pick(m.residual) for m in moments], _FLOOR) for pick in (np.min, np.max))
    axes.fill_between(steps, low, high, color=svg_figure.BLUE, alpha=0.18, linewidth=0)
    bound = [m.bound.mean() for m in moments if m.bound is not None]
    if bound:
        axes.plot(steps, np.maximum(bound, _FLOOR), color=svg_figure.ORANGE, linewidth=7, alpha=0.4, label="bound on the residual (E11)")
    axes.plot(steps, measured, color=svg_figure.BLUE, marker="o", markersize=4, label="residual ‖f(a[t]) − a[t]‖")
    distance = np.maximum([m.distance.mean() for m in moments], _FLOOR)
    axes.plot(steps, distance, color=svg_figure.GREEN, linewidth=1.4, label="distance ‖a[t] − a*‖")
    if run.chip.decay == 0:
        axes.plot(steps, distance[0] * 1.6 / np.array(steps), color=svg_figure.SOFT, linestyle=":", linewidth=1.2, label="1/t, as a guide")
    axes.plot(
        [own.steps],
        [max(own.residual.mean(), _FLOOR)],
        marker="s",
        markersize=8,
        markerfacecolor="none",
        markeredgecolor=svg_figure.INK,
        linestyle="none",
    )
    axes.axvline(run.steps, color=svg_figure.SOFT, linewidth=0.8)
    svg_figure.logarithmic_figure_axis(axes, "x", subs=(1.0, 2.0, 5.0))
    span = measured.max() / measured.min()
    svg_figure.logarithmic_figure_axis(axes, "y", subs=(1.0, 2.0, 5.0) if span < 30 else (1.0, 3.0) if span < 300 else (1.0,))
    axes.set_xlabel("steps t")
    axes.set_ylabel("length, spikes per step")
    axes.legend(loc="lower left", borderaxespad=0.2)
    axes.margins(y=0.06)
    svg_figure.add_tip_columns(axes, svg_figure.columns_around(steps, logarithmic=True), [_tip(m) for m in moments])
    alt = f"Residual against steps: {measured[0]:.3g} after 1 step, {own.residual.mean():.3g} after {run.steps}."
    return Picture(name=KEY, figure=figure, alt=alt)


def _table(moments: list[Moment]) -> Table:
    rows = [
        (m.steps, sample, float(m.residual[sample]), "" if m.bound is None else float(m.bound[sample]), float(m.distance[sample]))
        for m in moments
        for sample in range(len(m.residual))
    ]
    return Table(columns=("steps", "sample", "residual", "bound", "distance_to_equilibrium"), rows=rows)
