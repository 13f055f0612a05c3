"""The summary of an FSNN: a table of its layers and connections, without their weights."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from fsnn_lava.nn.graph import INPUT
from fsnn_lava.nn.operators import Convolution, Operator, TransposedConvolution
from fsnn_lava.nn.stage import Stage
from fsnn_lava.summary import Cell, Summary, shape_text

if TYPE_CHECKING:
    from fsnn_lava.nn.fsnn import FSNN


def fsnn_summary(net: FSNN) -> Summary:
    """Return an FSNN's summary: a row per layer with its forward connection, or a row for each of several, then feedback and readout."""
    architecture, graph = net.architecture, net.graph
    rows: list[tuple[Cell, ...]] = [("input", shape_text(architecture.input_shape), prod(architecture.input_shape), "", "")]
    for position, layer in enumerate(architecture.layers):
        stages = [net.stages[index] for index in graph.stages_into[position]]
        vth = "" if layer.vth is None else f"vth {layer.vth:g}"
        if len(stages) == 1 and stages[0].connection.source == ([INPUT] + [one.name for one in architecture.layers])[position]:
            details = ", ".join(part for part in (_details(stages[0]), vth) if part)
            rows.append((layer.name, shape_text(layer.out_shape), layer.size, _weights(stages[0].operator, stages[0]), details))
            continue
        rows.append((layer.name, shape_text(layer.out_shape), layer.size, "", vth))
        for stage in stages:
            name = f"{stage.connection.source} -> {layer.name}"
            rows.append((name, "", "", _weights(stage.operator, stage), _details(stage)))
    for connection, feedback in zip(graph.feedback, net.feedbacks, strict=True):
        alpha = float(feedback.limited(feedback.alpha.detach()))
        details = f"feedback, {_kind(feedback.operator)}, alpha {alpha:.3g}, limit {feedback.limit:g}"
        rows.append((f"{connection.source} -> {connection.target}", "", "", prod(feedback.operator.weight_shape), details))
    rows.append(("readout", str(architecture.classes), architecture.classes, architecture.layers[-1].size * architecture.classes, "dense"))
    return Summary(
        title=f"FSNN {architecture.text!r}: {net.neuron}, vth {net.vth:g}, {net.steps} steps, {net.schedule}",
        columns=("layer", "shape", "neurons", "weights", "details"),
        rows=tuple(rows),
        notes=() if net.normalisation is not None else ("takes raw values as they are (no normalisation)",),
    )


def _weights(operator: Operator, stage: Stage) -> Cell:
    return "" if stage.linear is None else prod(operator.weight_shape)


def _kind(operator: Operator) -> str:
    return {"dense": "dense", "conv": "convolution", "transposed": "transposed convolution"}[operator.kind]


def _details(stage: Stage) -> str:
    operator, connection = stage.operator, stage.connection
    parts = ["dense"]
    if connection.kind == "identity":
        parts = ["identity"]
    elif isinstance(operator, (Convolution, TransposedConvolution)):
        name = "average pooling" if connection.kind == "pool" else _kind(operator)
        parts = [f"{name} {_by(operator.kernel)}, stride {_one(operator.stride)}"]
    if isinstance(operator, Convolution) and not connection.fixed:
        parts += [f"dilation {_one(operator.dilation)}"] if operator.dilation != (1, 1) else []
        parts += [f"{operator.groups} groups"] if operator.groups > 1 else []
    parts += [f"averaged {stage.pool}x{stage.pool}"] if stage.pool > 1 else []
    parts += [f"times {connection.gain:g}"] if connection.gain != 1.0 else []
    parts += ["batch norm"] if stage.norm is not None else []
    return ", ".join(parts)


def _by(pair: tuple[int, int]) -> str:
    return f"{pair[0]}x{pair[1]}"


def _one(pair: tuple[int, int]) -> str:
    return str(pair[0]) if pair[0] == pair[1] else _by(pair)
