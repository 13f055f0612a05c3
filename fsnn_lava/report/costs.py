"""What a sample costs on the chip: work per layer, and ranges of time and energy, which are estimates."""

from __future__ import annotations

from fsnn_lava.placement.cost import ChipCost
from fsnn_lava.placement.cost_count import count_cost
from fsnn_lava.placement.cost_table import figures_in_words
from fsnn_lava.placement.range import Range
from fsnn_lava.report import svg_figure
from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table

KEY, TITLE = "costs", "What it costs"


def costs_panel(evidence: Evidence) -> Panel:
    """Return the section that shows costs: work per layer, and ranges of time and energy."""
    run = evidence.run
    if run is None:
        return Panel(key=KEY, title=TITLE, missing="needs the network and the run, not only the verdict")
    cost = _cost_of(run)
    columns = ("layer", "cores", "messages", "synaptic operations", "neuron updates")
    rows = [
        (layer.name, "–" if layer.cores is None else layer.cores, layer.messages, layer.operations, layer.updates) for layer in cost.layers
    ]
    return Panel(
        key=KEY,
        title=TITLE,
        caption=_caption(cost),
        pictures=(_draw(cost),) if cost.energy is not None and cost.energy_with_host is not None else (),
        data=Table(columns=columns, rows=rows),
        rows=Table(columns=columns, rows=[(name, cores, *(f"{n:,.0f}" for n in counts)) for name, cores, *counts in rows]),
        facts=(("chip steps per sample", f"{cost.steps}"), *figures_in_words(cost)),
    )


def _cost_of(run: RunEvidence) -> ChipCost:
    """Return the cost of the network that was exported, computed from the messages of the run."""
    values = run.values_of(run.steps, run.result.samples) if run.events else None
    return count_cost(run.exported, run.result, run.placement, values=values)


def _caption(cost: ChipCost) -> str:
    unknown = f" Unknown for {cost.board.name}: {', '.join(cost.missing)}." if cost.missing else ""
    return (
        "What the chip's own graph does for one sample, whichever backend ran it: a static input is written once, and neurons are updated "
        f"in every step of a window of {cost.steps} steps. Nothing here was measured on a chip: counts follow from the run, times and "
        f"energies from constants of {cost.board.name}, within the ranges that public measurements allow; fsnn-map --results lists their "
        f"sources.{unknown}"
    )


def _draw(cost: ChipCost) -> Picture:
    """Draw energy as bars from low to high: dynamic, static, and in total without and with host I/O."""
    shown = {
        "dynamic": cost.dynamic_energy,
        "static": cost.static_energy(cost.time),
        "together": cost.energy,
        "with host I/O": cost.energy_with_host,
    }
    bars = {name: figure for name, figure in shown.items() if figure is not None}
    figure = svg_figure.new_figure(height=60 + 30 * len(bars))
    axes = figure.add_subplot()
    for row, (name, energy) in enumerate(bars.items()):
        axes.barh(
            row,
            1e6 * (energy.high - energy.low),
            left=1e6 * energy.low,
            color=svg_figure.GOLD if name == "with host I/O" else svg_figure.BLUE,
        )
    axes.set_yticks(range(len(bars)), list(bars))
    axes.invert_yaxis()
    spread = max(energy.high for energy in bars.values()) / min(energy.low for energy in bars.values())
    svg_figure.logarithmic_figure_axis(axes, "x", subs=(1.0, 2.0, 5.0) if spread < 300.0 else (1.0, 3.0))
    axes.set_xlabel("µJ per sample, estimated: from the low to the high end")
    alt = "Estimated energy per sample: " + ", ".join(f"{name} {_text(energy)}" for name, energy in bars.items())
    return Picture(name="energy", figure=figure, label="Energy", alt=alt)


def _text(energy: Range) -> str:
    return f"{1e6 * energy.low:.3g} to {1e6 * energy.high:.3g} µJ"
