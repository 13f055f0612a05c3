"""Write the report of a run: one self-contained HTML file; on request also every figure as PNG and its data as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument, BadFile, FsnnError
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.placement.placement import Placement
from fsnn_lava.report import (
    accuracy_curve,
    activity,
    class_accuracy,
    confusion,
    cores,
    costs,
    mistakes,
    provenance,
    rate_scatter,
    residual_curve,
    sample_picker,
    svg_figure,
    weight_histograms,
)
from fsnn_lava.report.evidence import Evidence, Origin, RunEvidence
from fsnn_lava.report.page import page_html
from fsnn_lava.report.panel import Panel
from fsnn_lava.verify.verdict import Verdict

__all__ = ["write_report"]


class Section(NamedTuple):
    """One section of the report."""

    key: str  # anchor in the page and name of its CSV file
    title: str
    draw: Callable[[Evidence], Panel]


_SECTIONS = (
    Section(residual_curve.KEY, residual_curve.TITLE, residual_curve.residual_curve_panel),
    Section(accuracy_curve.KEY, accuracy_curve.TITLE, accuracy_curve.accuracy_curve_panel),
    Section(class_accuracy.KEY, class_accuracy.TITLE, class_accuracy.class_accuracy_panel),
    Section(confusion.KEY, confusion.TITLE, confusion.confusion_panel),
    Section(mistakes.KEY, mistakes.TITLE, mistakes.mistakes_panel),
    Section(sample_picker.KEY, sample_picker.TITLE, sample_picker.sample_picker_panel),
    Section(rate_scatter.KEY, rate_scatter.TITLE, rate_scatter.rate_scatter_panel),
    Section(activity.KEY, activity.TITLE, activity.activity_panel),
    Section(costs.KEY, costs.TITLE, costs.costs_panel),
    Section(weight_histograms.KEY, weight_histograms.TITLE, weight_histograms.weight_histograms_panel),
    Section(cores.KEY, cores.TITLE, cores.cores_panel),
)


def write_report(
    path: str | Path,
    *,
    verdict: Verdict,
    chip: ChipNetwork | None = None,
    result: Result | None = None,
    values: NDArray[np.uint8] | None = None,
    labels: NDArray[np.int64] | None = None,
    model: FSNN | None = None,
    placement: Placement | None = None,
    inputs: Mapping[int, NDArray[np.uint8]] | None = None,
    figures: str | Path | None = None,
    origin: Origin | None = None,
) -> None:
    """Write the report of a run. Some samples are run again on the emulator; the cost does not grow with the run.

    Args:
        path: the HTML file to write.
        verdict: the comparator's verdict; all totals come from it.
        chip, result, values: the network, the run and its input, all three or none. They may be the whole run or its first samples;
            a few hundred are enough. A section that needs them says so if they are missing.
        inputs: the inputs of single samples beyond those, by index: wrong answers, for their images.
        labels: labels of the same samples.
        model: the float network, for its weights.
        placement: placement of the network on a board (default: `place(chip)`).
        figures: folder for every figure as PNG and its data as CSV.
        origin: data set, date and command of the run.
    """
    evidence = Evidence(verdict, _run(chip, result, values, labels, model, placement, inputs), origin)
    with svg_figure.report_figure_style():
        panels = [_panel(section, evidence) for section in _SECTIONS] + [provenance.provenance_panel(evidence)]
        text = page_html(evidence, panels)
        if figures is not None:
            _write_figures(Path(figures), panels)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _write_figures(folder: Path, panels: list[Panel]) -> None:
    """Write NAME.png for every picture and KEY.csv for the data of every section."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(f"cannot create the folder {folder} for figures: {error.strerror or error}") from error
    for panel in panels:
        for picture in panel.pictures:
            with atomic_path(folder / f"{picture.name}.png") as temporary:
                svg_figure.write_report_png(picture.figure, temporary)
        if panel.data is not None:
            with atomic_path(folder / f"{panel.key}.csv") as temporary:
                temporary.write_text(panel.data.csv(), encoding="utf-8")


def _run(
    chip: ChipNetwork | None,
    result: Result | None,
    values: NDArray[np.uint8] | None,
    labels: NDArray[np.int64] | None,
    model: FSNN | None,
    placement: Placement | None,
    inputs: Mapping[int, NDArray[np.uint8]] | None,
) -> RunEvidence | None:
    if chip is None and result is None and values is None:
        return None
    if chip is None or result is None or values is None:
        raise BadArgument("pass the network, the result and the values together, or none of them")
    return RunEvidence(chip, result, np.asarray(values), None if labels is None else np.asarray(labels), model, placement, inputs)


def _panel(section: Section, evidence: Evidence) -> Panel:
    try:
        return section.draw(evidence)
    except FsnnError as error:  # a section that cannot be drawn does not prevent the rest of the report
        return Panel(key=section.key, title=section.title, wide=True, missing=str(error))
