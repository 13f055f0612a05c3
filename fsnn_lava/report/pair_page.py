"""The page of a pair of runs, side by side: one self-contained file like the report, without scripts."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
from matplotlib.ticker import PercentFormatter

from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.formats.results import ResultsReader
from fsnn_lava.report import svg_figure
from fsnn_lava.report.document import document_html
from fsnn_lava.report.layer_names import layer_kind_name
from fsnn_lava.report.page import page_section_html
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.sample_image import image_html
from fsnn_lava.report.tables import Table
from fsnn_lava.report.verdict_section import verdict_checks_html
from fsnn_lava.verify.run_pair import RunPair
from fsnn_lava.verify.verdict import Verdict

SHOWN = 60  # images of samples answered differently
_SIZE = 72  # pixels
_NAME = 18  # characters of a class name
_COLOURS = (svg_figure.BLUE, svg_figure.ORANGE)


def write_pair_report(path: str | Path, pair: RunPair, readers: tuple[ResultsReader, ResultsReader]) -> None:
    """Write the page that compares a pair of runs."""
    with svg_figure.report_figure_style():
        panels = [_facts_panel(pair), _classes_panel(pair, readers), _layers_panel(pair, readers), _different_panel(pair, readers)]
        text = _page(pair, panels)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _page(pair: RunPair, panels: list[Panel]) -> str:
    title = f"{pair.names[0]} and {pair.names[1]}"
    state = "pass" if all(verdict.passed for verdict in pair.verdicts) else "fail"
    runs = list(zip(pair.names, pair.verdicts, strict=True))
    sections = "".join(page_section_html(panel, "wide" if panel.wide else "half") for panel in panels)
    checks = "".join(_checks(name, verdict, index + 1) for index, (name, verdict) in enumerate(runs))
    answers = "".join(_answers(*run) for run in runs)
    header = (
        f'<header class="{state}"><p class="kicker">fsnn-lava report · two runs side by side</p><h1>{escape(title)}</h1>'
        f'<p class="conclusion">{escape(pair.sentence())}</p><dl class="answers two">{answers}</dl></header>'
    )
    return document_html(title, f"{header}\n<main>\n{sections}{checks}</main>", kind="pair")


def _answers(name: str, verdict: Verdict) -> str:
    """Return the verdict on one run, for the first screen."""
    state = "pass" if verdict.passed else "fail"
    text = f"<b>{verdict.word}</b> <span>{escape(verdict.answers())}</span>"
    return f'<div class="answer {state}"><dt>{escape(name)}</dt><dd>{text}</dd></div>'


def _checks(name: str, verdict: Verdict, number: int) -> str:
    found = verdict_checks_html(verdict, prefix=f"run-{number}-")
    return f'<section class="card half" id="checks-{number}"><h2>Checks of {escape(name)}</h2>{found}</section>'


def _facts_panel(pair: RunPair) -> Panel:
    rows = Table(columns=("what", *pair.names), rows=pair.facts)
    return Panel(key="facts", title="Side by side", rows=rows, wide=True)


def _classes_panel(pair: RunPair, readers: tuple[ResultsReader, ResultsReader]) -> Panel:
    title = "Accuracy by class"
    if not pair.labelled:
        return Panel(key="classes", title=title, missing="the two runs share no labels")
    labels = readers[0].row("labels", 0, pair.samples)
    answers = [reader.row("predictions", 0, pair.samples) for reader in readers]
    classes = [int(c) for c in np.unique(labels[labels >= 0])]
    names = [_class_name(readers[0], c) for c in classes]
    shares = [[float(np.mean(found[labels == c] == c)) for c in classes] for found in answers]
    numbers = [int(np.count_nonzero(labels == c)) for c in classes]
    rows = [(n, k, f"{a:.1%}", f"{b:.1%}", f"{b - a:+.1%}") for n, k, a, b in zip(names, numbers, *shares, strict=True)]
    table = Table(columns=("class", "samples", *pair.names, "difference"), rows=rows)
    caption = f"The share of right answers in each class, on the {pair.samples:,} samples compared."
    picture = _bars("classes", names, shares, pair.names, percent=True, alt="Accuracy by class of both runs")
    return Panel(key="classes", title=title, caption=caption, pictures=(picture,), numbers=table)


def _layers_panel(pair: RunPair, readers: tuple[ResultsReader, ResultsReader]) -> Panel:
    title = "Activity of the layers"
    chips = [reader.chip for reader in readers]
    kinds = [[(layer.name, layer_kind_name(chip, layer)) for layer in chip.layers] for chip in chips]
    if [name for name, _ in kinds[0]] != [name for name, _ in kinds[1]]:
        return Panel(key="layers", title=title, missing="the two networks have different layers")
    names = [f"{name} · {kind}" if kind == other else name for (name, kind), (_, other) in zip(*kinds, strict=True)]
    rates = [
        [float(r.row("layer_spikes", 0, number)[:, i].mean()) / layer.size / r.provenance.steps for i, layer in enumerate(r.chip.layers)]
        for r, number in zip(readers, pair.counted, strict=True)
    ]
    rows = [(n, f"{a:.4g}", f"{b:.4g}") for n, a, b in zip(names, *rates, strict=True)]
    picture = _bars("layers", names, rates, pair.names, percent=False, alt="Messages per neuron and step of both runs")
    return Panel(
        key="layers",
        title=title,
        caption="Spikes, or messages with delta encoding, per neuron and step, averaged over the samples compared.",
        pictures=(picture,),
        numbers=Table(columns=("layer", *pair.names), rows=rows),
    )


def _bars(key: str, names: list[str], values: list[list[float]], runs: tuple[str, str], *, percent: bool, alt: str) -> Picture:
    figure = svg_figure.new_figure(340, 84 + 32 * max(2, len(names)))
    axes = figure.add_subplot()
    places = np.arange(len(names))
    for index, (run, found) in enumerate(zip(runs, values, strict=True)):
        bars = axes.barh(places + (index - 0.5) * 0.36, found, height=0.34, color=_COLOURS[index], label=run)
        for bar, name, value in zip(bars, names, found, strict=True):
            svg_figure.add_tip(bar, f"{run}, {name}: {value:.1%}" if percent else f"{run}, {name}: {value:.4g}")
    axes.set_yticks(places, [name if len(name) <= _NAME else name.replace(" · ", "\n")[: 2 * _NAME] for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("right answers" if percent else "messages per neuron and step")
    if percent:
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    figure.legend(loc="outside upper left", ncols=1)
    return Picture(name=key, figure=figure, alt=alt)


def _different_panel(pair: RunPair, readers: tuple[ResultsReader, ResultsReader]) -> Panel:
    title = "Answered differently"
    if not pair.samples:
        return Panel(key="different", title=title, wide=True, missing="the two runs used different data")
    first, second = (escape(name) for name in pair.names)
    items = "".join(f"<li>{_item(readers, row)}</li>" for row in pair.different[:SHOWN])
    few = f" The first {SHOWN} are shown." if len(pair.different) > SHOWN else ""
    number = pair.samples - pair.agreeing
    return Panel(
        key="different",
        title=title,
        caption=f"{number:,} of {pair.samples:,} samples. Each is labelled with the right class, then both answers, {first} first.{few}"
        if number
        else f"{first} and {second} give the same answer to all {pair.samples:,} samples.",
        body=f'<ul class="gallery">{items}</ul>' if items else "",
        wide=True,
    )


def _item(readers: tuple[ResultsReader, ResultsReader], row: tuple[int, int, int, int]) -> str:
    sample, label, first, second = row
    kept = next((reader for reader in readers if sample < reader.details), None)
    value = None if kept is None else kept.values(sample, sample + 1)[0]
    image = image_html(readers[0].chip, value, alt=f"sample {sample}", size=_SIZE)
    known = f"<b>{escape(_class_name(readers[0], label))}</b>: " if label >= 0 else ""
    said = [escape(_class_name(reader, answer)) for reader, answer in zip(readers, (first, second), strict=True)]
    return f'{image}<span>{known}{said[0]}, {said[1]}</span><span class="note">no. {sample}</span>'


def _class_name(reader: ResultsReader, index: int) -> str:
    names = reader.chip.class_names
    return names[index] if 0 <= index < len(names) else str(index)
