"""Pick single samples to look at: input, answer, spike raster and membrane potentials of every layer."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import Layer
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.report.evidence import Answer, Evidence, RunEvidence
from fsnn_lava.report.layer_names import layer_title, neuron_name_in_layer
from fsnn_lava.report.panel import Panel
from fsnn_lava.report.sample_drawing import Membrane, draw_layer, rows_shown
from fsnn_lava.report.sample_image import image_html
from fsnn_lava.report.tables import Table, facts_html

KEY, TITLE = "samples", "Sample by sample"
SAMPLES = 8  # to choose from
LAYERS = 24  # at most this many drawings in all; a deep network has fewer samples
_THUMBNAIL, _IMAGE = 44, 128  # pixels

Potentials = tuple[NDArray[np.int32], ...]  # [B, T, N] per layer


def sample_picker_panel(evidence: Evidence) -> Panel:
    """Return the section that lets the reader pick a sample."""
    run = evidence.run
    if run is None:
        return Panel(key=KEY, title=TITLE, wide=True, missing="needs the network and the run, not only the verdict")
    chosen = _chosen_samples(evidence, run)
    drawn = run.trains(chosen)
    traced = chosen[: run.traced_samples]
    potentials = run.potentials(traced) if traced and run.chip.delta is None else ()
    origin = "as recorded by the backend" if run.result.spikes is not None else "run again on the emulator"
    membranes = (
        " Below: the potential of three neurons in units of their threshold, after the reset, with a tick for every spike."
        if potentials
        else ""
    )
    unit = "spike" if run.chip.delta is None else "message"
    caption = (
        f"Choose a sample; the spikes are {origin}. One row per neuron, one mark per {unit}; then the share of the layer that fires "
        f"in each step.{membranes} Steps are in the layer's own time, which starts when its first input can arrive."
    )
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        body=_choices(evidence, run, chosen, drawn, potentials),
        data=_table(run, chosen, drawn),
        wide=True,
    )


def _chosen_samples(evidence: Evidence, run: RunEvidence) -> list[int]:
    """Return the first samples, and as many again that were answered wrongly or differently from the float network."""
    number = min(run.result.samples, SAMPLES, max(2, LAYERS // len(run.chip.layers)))
    odd = [answer.sample for answer in evidence.errors if answer.sample < run.result.samples][: number // 2]
    rest = [sample for sample in range(run.result.samples) if sample not in odd]
    return sorted([*odd, *rest[: number - len(odd)]])


def _choices(evidence: Evidence, run: RunEvidence, chosen: list[int], drawn: Result, potentials: Potentials) -> str:
    """Return radio buttons with thumbnails; each shows its own part, with keyboard support and no scripts; print shows the first."""
    errors = {answer.sample: answer for answer in evidence.errors}
    parts = []
    for row, sample in enumerate(chosen):
        name, checked = f"{KEY}-{row + 1}", " checked" if row == 0 else ""
        mark = _mark(run, errors.get(sample))
        thumbnail = image_html(run.chip, run.input_of(sample), alt="", size=_THUMBNAIL)
        odd = ' class="odd"' if errors.get(sample) else ""
        label = f'<label for="{name}"{odd}>{thumbnail}<span>{sample}<span class="unseen">{escape(mark)}</span></span></label>'
        parts.append(f'<input type="radio" name="{KEY}" id="{name}"{checked}>{label}')
        parts.append(f'<div class="tab">{_sample(evidence, run, sample, row, drawn, potentials, errors.get(sample))}</div>')
    return f'<fieldset class="tabs pick"><legend>Sample</legend>{"".join(parts)}</fieldset>'


def _mark(run: RunEvidence, error: Answer | None) -> str:
    if error is None:
        return "" if run.labels is None else ", right"
    return ", wrong" if error.wrong else ", differs from the float network"


def _sample(
    evidence: Evidence, run: RunEvidence, sample: int, row: int, drawn: Result, potentials: Potentials, error: Answer | None
) -> str:
    image = image_html(run.chip, run.input_of(sample), alt=f"sample {sample}", size=_IMAGE)
    head = f'<div class="beside">{image}{facts_html(_facts(evidence, run, sample, error))}</div>'
    layers = [_layer(run, index, layer, row, drawn, potentials) for index, layer in enumerate(run.chip.layers)]
    return head + "".join(layers)


def _facts(evidence: Evidence, run: RunEvidence, sample: int, error: Answer | None) -> list[tuple[str, str]]:
    result = run.result
    facts = [("sample", str(sample)), ("answer", evidence.class_name(int(result.predictions[sample])))]
    if run.labels is not None:
        facts.append(("label", evidence.class_name(int(run.labels[sample]))))
    if error is not None and error.float_answer >= 0:
        facts.append(("float network", evidence.class_name(error.float_answer)))
    logits = np.sort(result.logits[sample])
    if len(logits) > 1:
        facts.append(("margin", f"{logits[-1] - logits[-2]:.3g}"))
    facts.append(("spikes" if run.chip.delta is None else "messages", f"{sum(int(c[sample].sum()) for c in result.counts):,}"))
    return facts


def _layer(run: RunEvidence, index: int, layer: Layer, row: int, drawn: Result, potentials: Potentials) -> str:
    spikes = (drawn.spikes or ())[index][row].reshape(run.steps, -1) != 0  # with delta encoding, every message is a mark
    shown = rows_shown(layer.size, run.steps)
    names = [neuron_name_in_layer(layer, int(neuron)) for neuron in shown]
    membranes = _membranes(layer, potentials[index][row], spikes) if potentials and row < len(potentials[index]) else []
    silent = int(np.count_nonzero(~spikes.any(axis=0)))
    note = f"{int(spikes.sum()):,} {'spikes' if run.chip.delta is None else 'messages'} of {layer.size:,} neurons; {silent:,} silent"
    title = layer_title(run.chip, layer)
    drawing = draw_layer(spikes, names, shown, membranes, alt=f"{title}: {note}")
    box = f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(title)}">{drawing}</div>'
    return f"<figure><h3>{escape(title)}</h3>{box}<figcaption>{note}</figcaption></figure>"


def _membranes(layer: Layer, potentials: NDArray[np.int32], spikes: NDArray[np.bool_]) -> list[Membrane]:
    """Return the busiest neuron, the median one, and the least busy one that fires."""
    counts = spikes.sum(axis=0)
    firing = np.flatnonzero(counts)
    if not len(firing):
        return []
    order = firing[np.argsort(-counts[firing], kind="stable")]
    picked = list(dict.fromkeys(int(order[place]) for place in (0, len(order) // 2, len(order) - 1)))
    unit = (layer.per_neuron(layer.threshold).astype(np.float64) * 2**STATE_FRACTION_BITS).reshape(-1)
    return [Membrane(name=neuron_name_in_layer(layer, n), potential=potentials[:, n] / unit[n], spikes=spikes[:, n]) for n in picked]


def _table(run: RunEvidence, chosen: list[int], drawn: Result) -> Table:
    rows = []
    for layer, trains in zip(run.chip.layers, drawn.spikes or (), strict=True):
        for row, neuron, step in np.argwhere(np.moveaxis(trains.reshape(len(chosen), run.steps, -1), 1, 2)):
            rows.append((chosen[row], layer.name, int(neuron), int(step) + 1))
    return Table(columns=("sample", "layer", "neuron", "step"), rows=sorted(rows))
