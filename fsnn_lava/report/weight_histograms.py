"""Histograms of weights before and after quantisation, per connection, in integer steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from fsnn_lava.ir.network import READOUT, ChipNetwork, Synapse, TransposedConvSynapse
from fsnn_lava.quantisation.counterpart import counterpart
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.report import svg_figure
from fsnn_lava.report.evidence import Evidence
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table

KEY, TITLE = "weights", "Weights before and after quantisation"


def weight_histograms_panel(evidence: Evidence) -> Panel:
    """Return the section that shows the weights before and after quantisation."""
    run = evidence.run
    if run is None:
        return Panel(key=KEY, title=TITLE, wide=True, missing="needs the network, not only the verdict")
    chip, folded = run.exported, run.folded
    parts = [(f"{s.source} → {s.target}", s.weight, None if folded is None else _float_weight(chip, folded, s)) for s in chip.synapses]
    readout = chip.readout
    unit = float(readout.scale) * 2.0**readout.exponent
    parts.append((f"{chip.layers[-1].name} → {READOUT}", readout.weight, None if folded is None else folded.readout_weight.numpy() / unit))
    drawn = [_draw(index, *part) for index, part in enumerate(parts)]
    caption = "Integer weights on the chip (filled) and the folded float weights they were rounded from (line), in integer steps. "
    caption += (
        "SQNR is the signal-to-quantisation-noise ratio."
        if folded is not None
        else "Without the float network (--model), only the integers are shown."
    )
    rows = [row for _, found in drawn for row in found]
    data = Table(columns=("connection", "from", "to", "integers", "floats"), rows=rows)
    numbers = Table(columns=("connection", "numbers"), rows=[(picture.label, picture.note) for picture, _ in drawn])
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        pictures=tuple(picture for picture, _ in drawn),
        data=data,
        numbers=numbers,
        arrange="grid",
        wide=True,
    )


def _float_weight(chip: ChipNetwork, folded: FoldedNetwork, synapse: Synapse) -> NDArray[np.float64] | None:
    """Return the folded weights of a connection in its integer steps; None if the model has no such connection."""
    connection = counterpart(folded, chip, synapse)
    if connection is None or tuple(connection.weight.shape) != synapse.weight.shape:
        return None
    target = chip.layer(synapse.target)
    axis = 1 if isinstance(synapse, TransposedConvSynapse) else 0
    scale = np.broadcast_to(target.scale, target.shape[:1]).reshape([-1 if i == axis else 1 for i in range(synapse.weight.ndim)])
    return connection.weight.numpy() / (scale * 2.0**synapse.exponent)


def _weight_bins(widest: float, weights: int) -> NDArray[np.float64]:
    """Return the edges of equally wide bins over -widest … widest, halfway between integers; more weights give more bins."""
    number = float(np.clip(2.5 * np.cbrt(weights), 12, 64))
    width = max(1, round(2 * widest / number))
    half = int(np.ceil((widest + 0.5) / width)) * width
    return np.arange(-half, half + width, width, dtype=np.float64) - 0.5


def _draw(index: int, name: str, integers: NDArray[Any], floats: NDArray[np.float64] | None) -> tuple[Picture, list[tuple[Any, ...]]]:
    widest = max(8.0, float(np.abs(integers).max(initial=0)), 0.0 if floats is None else float(np.abs(floats).max(initial=0.0)))
    edges = _weight_bins(widest, integers.size)
    after = np.histogram(integers, edges)[0]
    before = None if floats is None else np.histogram(floats, edges)[0]
    figure = svg_figure.new_figure(240, 190)
    axes = figure.add_subplot()
    axes.stairs(after / max(1, integers.size), edges, fill=True, color=svg_figure.BLUE, alpha=0.45, label="integers")
    if before is not None:
        axes.stairs(before / max(1, integers.size), edges, color=svg_figure.ORANGE, linewidth=1.3, label="floats")
    axes.set_xlabel("weight, integer steps")
    axes.set_ylabel("share")
    axes.grid(visible=False, axis="x")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.margins(x=0.08)
    figure.legend(loc="outside upper right", ncols=2, columnspacing=1.2)
    note = _note(integers, floats)
    counts = [f"{x:,} integers" + ("" if before is None else f", {before[i]:,} floats") for i, x in enumerate(after)]
    inside = [f"{np.ceil(left):g} … {np.floor(right):g}: {text}" for left, right, text in zip(edges[:-1], edges[1:], counts, strict=True)]
    svg_figure.add_tip_columns(axes, edges, inside)
    columns = after, np.zeros_like(after) if before is None else before
    rows = [(name, float(a), float(b), int(x), int(y)) for a, b, x, y in zip(edges[:-1], edges[1:], *columns, strict=True)]
    return Picture(name=f"{KEY}-{index + 1}", figure=figure, alt=f"{name}: {note}", label=name, note=note), rows


def _note(integers: NDArray[Any], floats: NDArray[np.float64] | None) -> str:
    note = f"{integers.size:,} weights, {np.mean(integers == 0):.1%} zero"
    if floats is None:
        return note
    noise, signal = float(np.square(integers - floats).mean()), float(np.square(floats).mean())
    top = int(np.abs(integers).max(initial=0))
    ratio = f", SQNR {10 * np.log10(signal / noise):.1f} dB" if noise > 0 and signal > 0 else ""
    return f"{note}, {np.mean(np.abs(floats) > top + 0.5):.2%} clipped{ratio}"
