"""One layer in one sample as SVG: the spike raster and the potentials of a few neurons over the steps. A few kilobytes each."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

WIDTH, LEFT, RIGHT = 720.0, 66.0, 8.0
RASTER_HEIGHT, SHARE_HEIGHT, TRACE_HEIGHT = 190.0, 44.0, 52.0
GAP = 14.0
_MARKS = 6144  # rows times steps of a raster: with more steps, fewer rows


@dataclass(frozen=True, kw_only=True)
class Membrane:
    """The potential of one neuron after every step, in thresholds, and its spikes."""

    name: str
    potential: NDArray[np.float64]  # [T]
    spikes: NDArray[np.bool_]  # [T]


def rows_shown(size: int, steps: int) -> NDArray[np.int64]:
    """All neurons of a layer, or some of them evenly spaced: 96 at 64 steps, fewer if there are more steps."""
    most = int(np.clip(_MARKS // max(1, steps), 24, 128))
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.int64))


def draw_layer(spikes: NDArray[np.bool_], names: list[str], shown: NDArray[np.int64], membranes: list[Membrane], *, alt: str) -> str:
    """An <svg> element: `spikes` are [T, N] of the whole layer, `shown` the neurons in the raster, `names` what they are called."""
    steps = len(spikes)
    scale = (WIDTH - LEFT - RIGHT) / steps
    parts = [_raster(spikes[:, shown], names, scale), _share(spikes.mean(axis=1), scale, top=RASTER_HEIGHT + GAP)]
    bottom = RASTER_HEIGHT + GAP + SHARE_HEIGHT
    for membrane in membranes:
        parts.append(_membrane(membrane, scale, top=bottom + GAP))
        bottom += GAP + TRACE_HEIGHT
    parts.append(_time_axis(steps, scale, top=bottom))
    row_label = f"{len(shown)} of {spikes.shape[1]} neurons" if len(shown) < spikes.shape[1] else f"{len(shown)} neurons"
    parts.append(_text(14, RASTER_HEIGHT / 2, row_label, "middle", turned=True))
    height = bottom + 34
    head = f'xmlns="http://www.w3.org/2000/svg" class="trace" viewBox="0 0 {WIDTH:g} {height:g}"'
    return f'<svg {head} role="img" aria-label="{escape(alt)}">{"".join(parts)}</svg>'


def _raster(spikes: NDArray[np.bool_], names: list[str], scale: float) -> str:
    """One path per neuron that fires: a mark per spike, with the neuron's name and count as its tip."""
    row = RASTER_HEIGHT / max(1, spikes.shape[1])
    frame = f'<path class="frame" d="M{LEFT:g} 0V{RASTER_HEIGHT:g}H{WIDTH - RIGHT:g}"/>'
    marks = []
    for index, train in enumerate(spikes.T):
        times = np.flatnonzero(train)
        if len(times):
            path = "".join(f"M{LEFT + (t + 0.14) * scale:.5g} {(index + 0.5) * row:.4g}h{0.72 * scale:.3g}" for t in times)
            marks.append(f'<path d="{path}"><title>{escape(names[index])}: {len(times)} spikes</title></path>')
    return f'{frame}<g class="marks" stroke-width="{max(0.8, 0.84 * row):.3g}">{"".join(marks)}</g>'


def _share(share: NDArray[np.float64], scale: float, *, top: float) -> str:
    """Bars: the share of the layer that fires in each step."""
    largest = max(0.01, float(share.max(initial=0.0)))
    bars = []
    for t, value in enumerate(share):
        height = SHARE_HEIGHT * float(value) / largest
        x, y = LEFT + (t + 0.1) * scale, top + SHARE_HEIGHT - height
        bars.append(_box(x, y, 0.8 * scale, height, f"step {t + 1}: {value:.1%} fire"))
    label = _text(LEFT - 6, top + 9, f"{largest:.0%}", "end") + _text(LEFT - 6, top + SHARE_HEIGHT, "share", "end")
    return f'<g class="share">{"".join(bars)}</g>{label}'


def _membrane(membrane: Membrane, scale: float, *, top: float) -> str:
    """The potential as a line between 0 and the threshold, or below; a tick above it for every spike."""
    lowest = min(0.0, float(membrane.potential.min(initial=0.0)))
    lowest = -1.0 if lowest > -1.0 and lowest < 0 else lowest
    highest = max(1.0, float(membrane.potential.max(initial=0.0)))

    def height(value: float) -> float:
        return top + TRACE_HEIGHT * (highest - value) / (highest - lowest)

    points = [(LEFT + (t + 0.5) * scale, height(float(u))) for t, u in enumerate(membrane.potential)]
    line = "M" + "L".join(f"{x:.5g} {y:.5g}" for x, y in points)
    spikes = "".join(f"M{points[t][0]:.5g} {top - 5:.5g}v8" for t in np.flatnonzero(membrane.spikes))
    rules = "".join(f'<path class="rule" d="M{LEFT:g} {height(v):.5g}H{WIDTH - RIGHT:g}"/>' for v in (0.0, 1.0))
    tips = "".join(
        _box(LEFT + t * scale, top, scale, TRACE_HEIGHT, f"{membrane.name}, step {t + 1}: {_state(membrane, t)}")
        for t in range(len(points))
    )
    labels = _text(LEFT - 6, height(1.0) + 4, "vth", "end") + _text(LEFT - 6, height(0.0) + 4, "0", "end")
    name = _text(WIDTH - RIGHT, top - 3, membrane.name, "end")
    return f'{rules}<path class="line" d="{line}"/><path class="spike" d="{spikes}"/>{labels}{name}<g class="tips">{tips}</g>'


def _state(membrane: Membrane, t: int) -> str:
    return f"{membrane.potential[t]:.3g} of the threshold{', spike' if membrane.spikes[t] else ''}"


def _box(x: float, y: float, width: float, height: float, tip: str) -> str:
    """A rectangle with a tip."""
    path = f"M{x:.5g} {y:.5g}h{width:.4g}v{height:.4g}h{-width:.4g}z"
    return f'<path d="{path}"><title>{escape(tip)}</title></path>'


def _time_axis(steps: int, scale: float, *, top: float) -> str:
    each = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if steps / size <= 10)
    ticks = [1, *range(each, steps + 1, each)] if each > 1 else range(1, steps + 1)
    numbers = "".join(_text(LEFT + (t - 0.5) * scale, top + 14, str(t), "middle") for t in ticks)
    return numbers + _text((LEFT + WIDTH - RIGHT) / 2, top + 30, "step", "middle")


def _text(x: float, y: float, text: str, anchor: str, *, turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:g} {y:g})"' if turned else ""
    return f'<text x="{x:.5g}" y="{y:.5g}" text-anchor="{anchor}"{turn}>{escape(text)}</text>'
