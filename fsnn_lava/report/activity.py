"""Activity and cost: firing rate of every layer, synaptic operations of every connection, NeuroBench's counts."""

from __future__ import annotations

from collections.abc import Sized

import numpy as np
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from fsnn_lava.ir.network import INPUT, READOUT, Synapse
from fsnn_lava.placement.neurobench import workload_metrics
from fsnn_lava.report import svg_figure
from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.layer_names import layer_title
from fsnn_lava.report.number_text import short_number
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table

KEY, TITLE = "activity", "Activity and cost"
_KIND_COLOURS = {"input": svg_figure.TEAL, "forward": svg_figure.BLUE, "feedback": svg_figure.PURPLE, "readout": svg_figure.GOLD}
_ROW = 38  # height of one bar, page units


def activity_panel(evidence: Evidence) -> Panel:
    """Return the section that shows the activity of every layer, and what that costs."""
    run = evidence.run
    if run is None:
        return Panel(key=KEY, title=TITLE, wide=True, missing="needs the network and the run, not only the verdict")
    rates, operations = _layer_rates(run), activity_by_synapse(run)
    rows = [("rate", layer, "", value) for layer, value in rates] + [
        ("operations", target, kind, value) for target, kind, value in operations
    ]
    caption = (
        "Firing rate: spikes per neuron and step, averaged over neurons and samples. Synaptic operations: one per weight that a spike or a "
        "non-zero message touches, per sample, grouped by the layer that receives them. "
        f"{_input_cost(run)} {_samples(evidence, run)}"
    )
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        conclusion=_conclusion(run, operations),
        pictures=(_draw_rates(run, rates), _draw_operations(run, operations)),
        data=Table(columns=("what", "layer", "connection", "value"), rows=rows),
        numbers=Table(columns=("what", "layer", "connection", "value"), rows=[(*row[:3], short_number(row[3])) for row in rows]),
        arrange="grid",
        wide=True,
        facts=_costs(run),
    )


def _samples(evidence: Evidence, run: RunEvidence) -> str:
    number = run.result.samples
    return f"All {number:,} samples." if number == evidence.samples else f"The first {number:,} of {evidence.samples:,} samples."


def _conclusion(run: RunEvidence, operations: list[tuple[str, str, float]]) -> str:
    """Say which connection costs the most."""
    total = sum(value for _, _, value in operations)
    if total == 0:
        return ""
    target, kind, value = max(operations, key=lambda entry: entry[2])
    return f"The {kind} connection into {_titles(run).get(target, target)} takes {value / total:.0%} of the synaptic operations."


def _titles(run: RunEvidence) -> dict[str, str]:
    return {layer.name: layer_title(run.chip, layer) for layer in run.chip.layers}


def _input_cost(run: RunEvidence) -> str:
    if run.chip.delta is not None:
        return "Spikes are messages here, each a change of a rate; a static input is sent once, and messages in flight are counted."
    return "A static input counts in every step, because the chip receives it in every step."


def _layer_rates(run: RunEvidence) -> list[tuple[str, float]]:
    """Return the spikes per neuron and step of every layer, not weighted by the leak."""
    return [(layer.name, float(counts.mean()) / run.steps) for layer, counts in zip(run.chip.layers, run.result.counts, strict=True)]


def activity_by_synapse(run: RunEvidence) -> list[tuple[str, str, float]]:
    """Return (target, kind, operations per sample) for every connection: messages that arrived times the weights each touches."""
    found = [(s.target, _kind_of(run, s), float((_arrived(run, s) @ run.fan_out[id(s)].reshape(-1)).mean())) for s in run.chip.synapses]
    spikes = run.result.counts[-1].reshape(run.result.samples, -1).sum(axis=1)
    return [*found, (READOUT, "readout", float(spikes.mean()) * run.chip.readout.classes)]


def _kind_of(run: RunEvidence, synapse: Synapse) -> str:
    if synapse.source == INPUT:
        return "input"
    return "forward" if run.chip.is_forward(synapse) else "feedback"


def _arrived(run: RunEvidence, synapse: Synapse) -> NDArray[np.float64]:
    """Return the messages per source neuron that reached the target in its window, [B, N]."""
    result, samples = run.result, run.result.samples
    if synapse.source == INPUT:
        sent = run.values_of(run.steps, samples) != 0
        times = 1 if run.chip.delta is not None else run.steps
        return (sent.sum(axis=1) if run.events else sent * times).reshape(samples, -1).astype(np.float64)
    counts = result.counts[run.chip.index(synapse.source)].astype(np.float64)
    if not run.chip.is_forward(synapse) and run.chip.delta is None:
        counts = counts - result.late[next(i for i, s in enumerate(run.chip.feedback) if s is synapse)]
    return counts.reshape(samples, -1)


def _slots(rows: Sized) -> int:
    """Return the number of rows in a bar chart: at least two, so that a single bar is not too thick."""
    return max(2, len(rows))


def _draw_rates(run: RunEvidence, rates: list[tuple[str, float]]) -> Picture:
    figure = svg_figure.new_figure(340, 56 + _ROW * _slots(rates))
    axes = figure.add_subplot()
    titles = _titles(run)
    names, values = [name for name, _ in rates], [value for _, value in rates]
    bars = axes.barh(range(len(names)), values, color=svg_figure.BLUE, height=0.6)
    axes.set_yticks(range(len(names)), [titles[name].replace(" · ", "\n") for name in names])
    for bar, name, value in zip(bars, names, values, strict=True):
        svg_figure.add_tip(bar, f"{titles[name]}: {value:.4g} spikes per neuron and step")
    axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=4, color=svg_figure.INK)
    axes.set_ylim(_slots(rates) - 0.5, -0.5)
    axes.set_xlim(0, max(0.001, max(values)) * 1.25)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("spikes per neuron and step")
    return Picture(
        name="firing-rate", figure=figure, label="Firing rate", alt="Firing rate: " + ", ".join(f"{n} {v:.3g}" for n, v in rates)
    )


def _draw_operations(run: RunEvidence, operations: list[tuple[str, str, float]]) -> Picture:
    targets = list(dict.fromkeys(target for target, _, _ in operations))
    figure = svg_figure.new_figure(340, 82 + _ROW * _slots(targets))
    axes = figure.add_subplot()
    start, titles = dict.fromkeys(targets, 0.0), _titles(run)
    for kind, colour in _KIND_COLOURS.items():
        of_kind = [(target, value) for target, k, value in operations if k == kind]
        if of_kind:
            rows, values = [targets.index(t) for t, _ in of_kind], [v for _, v in of_kind]
            bars = axes.barh(rows, values, left=[start[t] for t, _ in of_kind], color=colour, height=0.6, label=kind)
            for bar, (target, value) in zip(bars, of_kind, strict=True):
                svg_figure.add_tip(bar, f"{kind} into {titles.get(target, target)}: {value:,.0f} operations per sample")
                start[target] += value
    axes.set_yticks(range(len(targets)), [titles.get(target, target).replace(" · ", "\n") for target in targets])
    for row, target in enumerate(targets):
        axes.annotate(
            short_number(start[target]), (start[target], row), xytext=(4, 0), textcoords="offset points", va="center", color=svg_figure.INK
        )
    axes.set_ylim(_slots(targets) - 0.5, -0.5)
    axes.set_xlim(0, max(start.values()) * 1.25 or 1.0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("synaptic operations per sample")
    figure.legend(loc="outside upper left", ncols=4, columnspacing=1.2)
    alt = "Synaptic operations per sample: " + ", ".join(f"{t} {short_number(v)}" for t, v in start.items())
    return Picture(name="operations", figure=figure, label="Synaptic operations", alt=alt)


def _costs(run: RunEvidence) -> tuple[tuple[str, str], ...]:
    found = workload_metrics(run.exported if run.result.digest == run.exported.digest() else run.chip, run.result)
    return (
        ("spikes per sample", f"{found['spikes']:,.0f}"),
        ("synaptic operations per sample", f"{found['synaptic_operations']:,.0f}"),
        ("membrane updates per sample", f"{found['membrane_updates']:,.0f}"),
        ("activation sparsity", f"{found['activation_sparsity']:.1%}"),
        ("connection sparsity", f"{found['connection_sparsity']:.1%}"),
        ("footprint", f"{found['footprint']:,} bytes"),
    )
