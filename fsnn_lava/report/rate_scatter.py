"""A scatter plot of measured rates against equilibrium rates, layer by layer."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fsnn_lava.report import svg_figure
from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.layer_names import layer_title
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table

KEY, TITLE = "rates", "Rates against the equilibrium"
POINTS = 3000  # per layer
STRIPS = 16  # per layer, for tips and the table
_VECTOR = 400  # if there are more points, they are drawn as an image

Pairs = dict[int, NDArray[np.float64]]  # layer → [points, 2]: a*, a


def rate_scatter_panel(evidence: Evidence) -> Panel:
    """Return the section that plots measured rates against equilibrium rates."""
    pairs, names, source = _pairs(evidence)
    if not pairs:
        return Panel(key=KEY, title=TITLE, missing="no equilibrium was solved")
    titles = names if evidence.run is None else [layer_title(evidence.run.chip, layer) for layer in evidence.run.chip.layers]
    pictures = tuple(_draw(index, titles[index], points) for index, points in pairs.items() if len(points))
    strips = [(titles[index], *row) for index, points in pairs.items() for row in _strip_rows(points)]
    rows = [(names[index], float(target), float(rate)) for index, points in pairs.items() for target, rate in points]
    caption = (
        "Each dot is one neuron in one sample: its rate at the equilibrium a* = f(a*), and the rate that was measured. "
        f"On the diagonal they agree. {source}"
    )
    data = Table(columns=("layer", "equilibrium_rate", "measured_rate"), rows=rows)
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        pictures=pictures,
        data=data,
        numbers=Table(columns=("layer", "a* from", "to", "dots", "smallest a", "mean a", "largest a"), rows=strips),
        arrange="grid",
        wide=len(pictures) > 1,
    )


def _pairs(evidence: Evidence) -> tuple[Pairs, list[str], str]:
    """Return the points that the residual check kept, or else those of a few samples of the run."""
    kept = evidence.series("residual", "rates")
    layers = evidence.numbers("residual").get("layers", ())
    if kept is not None and len(kept):
        array = np.asarray(kept, dtype=np.float64)
        found = {index: _thin(array[array[:, 0] == index][:, 1:]) for index in range(len(layers))}
        solved = evidence.numbers("residual").get("solved", 0)
        return found, [str(layer["layer"]) for layer in layers], f"Neurons sampled evenly from {solved} samples."
    if evidence.run is None:
        return {}, [], ""
    return _of_run(evidence.run), [layer.name for layer in evidence.run.chip.layers], f"Neurons from {evidence.run.curve_samples} samples."


def _of_run(run: RunEvidence) -> Pairs:
    pairs = zip(run.equilibria.rates, run.result.part(slice(0, run.curve_samples)).rates, strict=True)
    return {index: _thin(np.stack([target.reshape(-1), rate.reshape(-1)], axis=1)) for index, (target, rate) in enumerate(pairs)}


def _thin(points: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(points) <= POINTS:
        return points
    return points[np.sort(np.random.default_rng(0).choice(len(points), POINTS, replace=False))]


Strip = tuple[float, float, int, float, float, float]  # a* from, to; dots; smallest, mean and largest a


def _strip_rows(points: NDArray[np.float64]) -> list[Strip]:
    """Group the dots into strips of equal width along a*, each with its number of dots and measured rates. Empty strips are left out."""
    target, rate = points.T
    edges = np.linspace(0.0, max(0.1, float(target.max(initial=0.0))), STRIPS + 1)
    strip = np.clip(np.digitize(target, edges[1:-1]), 0, STRIPS - 1)
    found = []
    for index in np.unique(strip):
        own = rate[strip == index]
        found.append((float(edges[index]), float(edges[index + 1]), len(own), float(own.min()), float(own.mean()), float(own.max())))
    return found


def _add_tips(axes: Axes, points: NDArray[np.float64]) -> None:
    for left, right, number, low, mean, high in _strip_rows(points):
        text = f"a* {left:.3g} … {right:.3g}: {number} dots, measured {low:.3g} … {high:.3g}, mean {mean:.3g}"
        svg_figure.add_tip_columns(axes, np.array([left, right]), [text])


def _draw(index: int, name: str, points: NDArray[np.float64]) -> Picture:
    target, rate = points.T
    figure = svg_figure.new_figure(300, 290)
    axes = figure.add_subplot()
    top = max(0.1, float(points.max(initial=0.0)) * 1.04)
    axes.plot([0, top], [0, top], color=svg_figure.SOFT, linewidth=1.0, zorder=1)
    many = len(points) > _VECTOR
    axes.scatter(target, rate, s=7, color=svg_figure.BLUE, alpha=0.35 if many else 0.6, linewidths=0, rasterized=many, zorder=2)
    axes.set_xlim(-0.02 * top, top)
    axes.set_ylim(-0.02 * top, top)
    axes.set_aspect("equal")
    axes.set_xlabel("equilibrium rate a*")
    axes.set_ylabel("measured rate a")
    _add_tips(axes, points)
    off = np.abs(target - rate)
    moving = target.std() > 0 and rate.std() > 0
    correlation = f", r = {np.corrcoef(target, rate)[0, 1]:.4f}" if moving else ""
    note = f"|a − a*|: mean {off.mean():.3g}, largest {off.max(initial=0.0):.3g}{correlation}"
    return Picture(name=f"{KEY}-{index + 1}", figure=figure, alt=f"Layer {name}: {note}", label=name, note=note)
