"""An FSNN as a table of its layers and connections, without their weights."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from fsnn_lava.nn.architecture import LayerSpec
from fsnn_lava.summary import Cell, Summary, shape_text

if TYPE_CHECKING:
    from fsnn_lava.nn.fsnn import FSNN


def fsnn_summary(net: FSNN) -> Summary:
    """One row for every layer with its forward connection, then feedback and readout."""
    architecture = net.architecture
    rows: list[tuple[Cell, ...]] = [("input", shape_text(architecture.input_shape), prod(architecture.input_shape), "", "")]
    for position, spec in enumerate(architecture.layers, start=1):
        rows.append((f"l{position}", shape_text(spec.out_shape), spec.size, spec.weights, _details(spec, net.batch_norm)))
    feedback, last = architecture.feedback, len(architecture.layers)
    if feedback is not None and net.feedback is not None:
        kind = {"dense": "dense", "conv": "convolution", "transposed": "transposed convolution"}[feedback.kind]
        alpha = float(net.feedback.limited(net.feedback.alpha.detach()))
        rows.append((f"l{last} -> l1", "", "", feedback.weights, f"feedback, {kind}, alpha {alpha:.3g}, limit {net.limit:g}"))
    rows.append(("readout", str(architecture.classes), architecture.classes, architecture.layers[-1].size * architecture.classes, "dense"))
    return Summary(
        title=f"FSNN {architecture.text!r}: {net.neuron}, vth {net.vth:g}, {net.steps} steps, {net.schedule}",
        columns=("layer", "shape", "neurons", "weights", "details"),
        rows=tuple(rows),
        notes=() if net.normalisation is not None else ("takes raw values as they are (no normalisation)",),
    )


def _details(spec: LayerSpec, batch_norm: bool) -> str:
    parts = ["dense"]
    if spec.kind == "conv":
        parts = [f"convolution {spec.kernel}x{spec.kernel}, stride {spec.stride}"]
    parts += [f"averaged {spec.pool}x{spec.pool}"] if spec.pool > 1 else []
    parts += ["batch norm"] if batch_norm else []
    return ", ".join(parts)
