"""Draw one layer in one sample as SVG: the spike raster and the potentials of a few neurons over the steps. A few kilobytes each.

Paths are written in steps and rows, and scaled by their group, so that most coordinates are small integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

WIDTH, LEFT, RIGHT = 720.0, 66.0, 8.0
RASTER_HEIGHT, SHARE_HEIGHT, TRACE_HEIGHT = 190.0, 44.0, 52.0
GAP, NAME_GAP = 14.0, 30.0
_MARKS = 3072  # rows times steps of a raster; with more steps there are fewer rows
_LABEL = 11.0  # height of a label


@dataclass(frozen=True, kw_only=True)
class Membrane:
    """The potential of one neuron after every step, in units of its threshold, and its spikes."""

    name: str
    potential: NDArray[np.float64]  # [T]
    spikes: NDArray[np.bool_]  # [T]

    def state(self, t: int) -> str:
        """Return the potential at step `t` as text."""
        return f"{self.potential[t]:.2f}{' (spike)' if self.spikes[t] else ''}"


def rows_shown(size: int, steps: int) -> NDArray[np.int64]:
    """Return all neurons of a layer, or an evenly spaced subset: 96 at 32 steps, fewer if there are more steps."""
    most = int(np.clip(_MARKS // max(1, steps), 24, 128))
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.int64))


def draw_layer(spikes: NDArray[np.bool_], names: list[str], shown: NDArray[np.int64], membranes: list[Membrane], *, alt: str) -> str:
    """Draw a layer as <svg>: `spikes` [T, N] of the whole layer, `shown` are the neurons in the raster, `names` their names."""
    steps, share = len(spikes), spikes.mean(axis=1)
    step = (WIDTH - LEFT - RIGHT) / steps
    parts = [_raster(spikes[:, shown], names, step), _share(share, step, top=RASTER_HEIGHT + GAP)]
    bottom = RASTER_HEIGHT + GAP + SHARE_HEIGHT
    for membrane in membranes:
        parts.append(_membrane(membrane, step, top=bottom + NAME_GAP))
        bottom += NAME_GAP + TRACE_HEIGHT
    parts.append(_tips(share, membranes, step, top=RASTER_HEIGHT + GAP, bottom=bottom))
    parts.append(_time_axis(steps, step, top=bottom))
    row_label = f"{len(shown)} of {spikes.shape[1]} neurons" if len(shown) < spikes.shape[1] else f"{len(shown)} neurons"
    parts.append(_text(14, RASTER_HEIGHT / 2, row_label, "middle", turned=True))
    head = f'xmlns="http://www.w3.org/2000/svg" class="trace" viewBox="0 0 {WIDTH:g} {bottom + 34:g}"'
    return f'<svg {head} role="img" aria-label="{escape(alt)}">{"".join(parts)}</svg>'


def _raster(spikes: NDArray[np.bool_], names: list[str], step: float) -> str:
    """Draw one path per neuron that fires: a mark per spike, with the neuron's name and count as its tip."""
    row = RASTER_HEIGHT / max(1, spikes.shape[1])
    frame = f'<path class="frame" d="M{LEFT:g} 0V{RASTER_HEIGHT:g}H{WIDTH - RIGHT:g}"/>'
    marks = []
    for index, train in enumerate(spikes.T):
        times = np.flatnonzero(train)
        if len(times):
            path = f"M{times[0]} {index}h.7" + "".join(f"m{gap - 0.7:.3g} 0h.7" for gap in np.diff(times))
            marks.append(f'<path d="{path}"><title>{escape(names[index])}: {len(times)} spikes</title></path>')
    scale = f"translate({LEFT + 0.15 * step:.5g} {0.5 * row:.4g})scale({step:.5g} {row:.5g})"
    return f'{frame}<g class="marks" stroke-width=".8" transform="{scale}">{"".join(marks)}</g>'


def _share(share: NDArray[np.float64], step: float, *, top: float) -> str:
    """Draw bars for the fraction of the layer that fires in each step."""
    largest = max(0.01, float(share.max(initial=0.0)))
    bars = "".join(f"M{t} 0v{100 * value / largest:.0f}h.8v{-100 * value / largest:.0f}z" for t, value in enumerate(share))
    scale = f"translate({LEFT + 0.1 * step:.5g} {top + SHARE_HEIGHT:g})scale({step:.5g} {-SHARE_HEIGHT / 100:g})"
    label = _text(LEFT - 6, top + 9, f"{largest:.0%}", "end") + _text(LEFT - 6, top + SHARE_HEIGHT, "share", "end")
    return f'<path class="share" transform="{scale}" d="{bars}"/>{label}'


def _membrane(membrane: Membrane, step: float, *, top: float) -> str:
    """Draw the potential as a line between 0 and the threshold, or beyond, with a tick above it for every spike."""
    lowest, highest = min(0.0, float(membrane.potential.min(initial=0.0))), max(1.0, float(membrane.potential.max(initial=0.0)))

    def height(value: float) -> float:
        return TRACE_HEIGHT * (highest - value) / (highest - lowest)

    line = "M" + "L".join(f"{t} {height(float(u)):.3g}" for t, u in enumerate(membrane.potential))
    spikes = "".join(f"M{t} -5v8" for t in np.flatnonzero(membrane.spikes))
    rules = "".join(f'<path class="rule" d="M{LEFT:g} {top + height(v):.5g}H{WIDTH - RIGHT:g}"/>' for v in (0.0, 1.0))
    scale = f'transform="translate({LEFT + 0.5 * step:.5g} {top:g})scale({step:.5g} 1)"'
    paths = f'<path class="line" {scale} d="{line}"/><path class="spike" {scale} d="{spikes}"/>'
    labels = _text(LEFT - 6, top + height(1.0) + 4, "vth", "end")
    if abs(height(0.0) - height(1.0)) >= _LABEL:
        labels += _text(LEFT - 6, top + height(0.0) + 4, "0", "end")
    return f"{rules}{paths}{labels}{_text(LEFT, top - 9, membrane.name, 'start')}"


def _tips(share: NDArray[np.float64], membranes: list[Membrane], step: float, *, top: float, bottom: float) -> str:
    """Draw an invisible column over every step, which shows its numbers."""
    columns = []
    for t, value in enumerate(share):
        potentials = ", ".join(membrane.state(t) for membrane in membranes)
        text = f"step {t + 1}: {value:.1%} fire" + (f"; potentials {potentials} vth" if membranes else "")
        columns.append(f'<path d="M{t} 0h1v1h-1z"><title>{text}</title></path>')
    scale = f"translate({LEFT:g} {top:g})scale({step:.5g} {bottom - top:g})"
    return f'<g class="tips" transform="{scale}">{"".join(columns)}</g>'


def _time_axis(steps: int, step: float, *, top: float) -> str:
    each = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if steps / size <= 10)
    ticks = [1, *range(each, steps + 1, each)] if each > 1 else range(1, steps + 1)
    numbers = "".join(_text(LEFT + (t - 0.5) * step, top + 14, str(t), "middle") for t in ticks)
    return numbers + _text((LEFT + WIDTH - RIGHT) / 2, top + 30, "step", "middle")


def _text(x: float, y: float, text: str, anchor: str, *, turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:g} {y:g})"' if turned else ""
    return f'<text x="{x:.5g}" y="{y:.5g}" text-anchor="{anchor}"{turn}>{escape(text)}</text>'
