"""The spike trains of one sample, one picture per layer to select from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import Layer
from fsnn_lava.report import canvas
from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.panel import Panel, Picture, Table

KEY, TITLE = "raster", "Spikes of one sample"
NEURONS = 128  # rows of a picture
_VECTOR = 3000  # with more spikes they are drawn as an image


def raster_panel(evidence: Evidence) -> Panel:
    run = evidence.run
    if run is None:
        return Panel(key=KEY, title=TITLE, wide=True, missing="needs the network and the run, not only the verdict")
    trains = run.first_sample.spikes or ()
    flat = [(train[0] != 0).astype(np.uint8).reshape(run.steps, -1) for train in trains]  # a message of delta encoding counts as one mark
    pictures = tuple(_draw(index, *pair) for index, pair in enumerate(zip(run.chip.layers, flat, strict=True)))
    rows = [(layer.name, int(n), int(t) + 1) for layer, spikes in zip(run.chip.layers, flat, strict=True) for n, t in np.argwhere(spikes.T)]
    origin = "as recorded by the backend" if run.result.spikes is not None else "run again on the emulator"
    caption = (
        f"Sample 0, {origin}. Top: one row per neuron, one mark per spike. Bottom: the share of the layer that fires in each step. "
        "Steps are in the layer's own time, which starts when its first input can arrive."
    )
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        pictures=pictures,
        data=Table(columns=("layer", "neuron", "step"), rows=rows),
        arrange="tabs",
        wide=True,
        facts=_facts(run),
        image=_input(run),
    )


def rows_shown(size: int) -> NDArray[np.int64]:
    """All neurons of a layer, or NEURONS of them, evenly spaced."""
    return np.unique(np.linspace(0, size - 1, min(size, NEURONS)).astype(np.int64))


def _draw(index: int, layer: Layer, spikes: NDArray[np.uint8]) -> Picture:
    shown = rows_shown(spikes.shape[1])
    neurons, times = np.nonzero(spikes[:, shown].T)
    figure = canvas.new_figure(720, 330)
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [4, 1]})
    x, y = np.repeat(times + 1.0, 3), np.repeat(neurons.astype(float), 3)
    y[0::3], y[1::3], x[2::3] = y[0::3] - 0.42, y[1::3] + 0.42, np.nan
    width = float(np.clip(400 / len(spikes), 0.8, 9.0))
    above.plot(x, y, color=canvas.BLUE, linewidth=width, solid_capstyle="butt", rasterized=len(times) > _VECTOR)
    above.set_ylim(len(shown) - 0.5, -0.5)
    above.set_xlim(0.5, len(spikes) + 0.5)
    above.grid(visible=False)
    above.set_yticks([])
    above.set_ylabel(f"{len(shown)} of {spikes.shape[1]} neurons" if len(shown) < spikes.shape[1] else f"{len(shown)} neurons")
    share = spikes.mean(axis=1)
    below.stairs(share, np.arange(len(share) + 1) + 0.5, fill=True, color=canvas.BLUE, alpha=0.5)
    below.set_ylim(0, max(0.01, float(share.max(initial=0.0)) * 1.15))
    below.set_ylabel("share")
    below.set_xlabel("step")
    silent = int(np.count_nonzero(spikes.sum(axis=0) == 0))
    note = f"{int(spikes.sum())} spikes of {spikes.shape[1]} neurons in {len(spikes)} steps; {silent} neurons never spike"
    return Picture(name=f"{KEY}-{index + 1}", figure=figure, alt=f"Layer {layer.name}: {note}", label=layer.name, note=note)


def _facts(run: RunEvidence) -> tuple[tuple[str, str], ...]:
    answer = int(run.result.predictions[0])
    facts = [("answer", class_name(run, answer))]
    if run.labels is not None:
        facts.append(("label", class_name(run, int(run.labels[0]))))
    return (*facts, ("spikes", f"{sum(int(c[0].sum()) for c in run.result.counts):,}"), ("steps", str(run.steps)))


def class_name(run: RunEvidence, index: int) -> str:
    names = run.chip.class_names
    return names[index] if 0 <= index < len(names) else str(index)


def _input(run: RunEvidence) -> str:
    """The sample itself as a data: URL, if it is an image."""
    shape = run.chip.input.shape
    if len(shape) != 3:
        return ""
    value = run.values[0].astype(np.float64)
    if run.events:
        value = value.sum(axis=0)
    value = np.moveaxis(value, 0, -1) if shape[0] == 3 else value.sum(axis=0)
    return canvas.image_url((255 * value / max(1.0, float(value.max()))).astype(np.uint8))
