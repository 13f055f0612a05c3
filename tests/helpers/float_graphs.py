"""Random small network graphs for the float side: every kind of connection, skips, and up to four loops."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import strategies as st

import fsnn_lava as fl
from fsnn_lava.nn.graph_paths import reachable

FLAT = ((4,), (3,))
SPATIAL = ((2, 4, 4), (4, 4, 4), (2, 2, 2), (4, 2, 2))
Shape = tuple[int, ...]


def fitting(source: Shape, target: Shape) -> list[dict[str, Any]]:
    """Every kind of connection that leads from one shape to the other, the fixed ones last."""
    if len(target) == 1:
        return [{"kind": "dense"}] + ([{"kind": "identity", "gain": 0.5}] if source == target else [])
    if len(source) == 1:
        return []
    found: list[dict[str, Any]] = []
    if source[1:] == target[1:]:
        found += [
            {"kind": "conv", "kernel": 3},
            {"kind": "conv", "kernel": (1, 3)},
            {"kind": "conv", "kernel": 2, "dilation": 2, "padding": 1},
        ]
        found += [{"kind": "conv", "kernel": 3, "groups": 2}, {"kind": "transposed", "kernel": 3, "stride": 1}]
    if 2 * target[1] == source[1]:
        found += [{"kind": "conv", "kernel": 3, "stride": 2}, {"kind": "conv", "kernel": 2, "stride": 2, "padding": 0}]
        found += (
            [{"kind": "conv", "kernel": 3, "pool": 2}, {"kind": "conv", "kernel": 1, "stride": 3, "padding": 1}] if source[1] == 4 else []
        )
    if target[1] == 2 * source[1]:
        found += [{"kind": "transposed", "kernel": 3}, {"kind": "transposed", "kernel": 2, "padding": 0}]
    if source == target:
        found += [{"kind": "identity", "gain": 0.5}]
    if source[0] == target[0] and source[1] == 2 * target[1]:
        found += [{"kind": "pool", "kernel": 2}]
    return found


@st.composite
def graphs(draw: st.DrawFn, *, layers_max: int = 6, feedbacks_max: int = 4, feedbacks_min: int = 0) -> fl.Graph:
    """A valid graph: spatial layers first, then flat ones; skips, several inputs of a layer, thresholds of their own."""
    spatial = draw(st.integers(0, layers_max))
    flat = draw(st.integers(0 if spatial else 1, max(layers_max - spatial, 0 if spatial else 1)))
    shapes = [draw(st.sampled_from(SPATIAL)) for _ in range(spatial)] + [draw(st.sampled_from(FLAT)) for _ in range(flat)]
    known: list[tuple[str, Shape]] = [("input", (2, 4, 4) if spatial else (5,))]
    connections: list[fl.Connection] = []
    for position, shape in enumerate(shapes):
        name = f"n{position}"
        usable = [(source, one) for source, one in known if any(how["kind"] not in ("pool", "identity") for how in fitting(one, shape))]
        drawn = [draw(st.sampled_from(usable)) for _ in range(draw(st.integers(1, 2)))]
        for source, one in dict.fromkeys(drawn):
            how = [option for option in fitting(one, shape) if source != "input" or option["kind"] != "identity"]
            connections.append(fl.Connection(source=source, target=name, **draw(st.sampled_from(how))))
        known.append((name, shape))
    connections += _completed(known[1:], connections)
    connections += _loops(draw, known[1:], connections, draw(st.integers(feedbacks_min, feedbacks_max)))
    vths = [draw(st.sampled_from((None, 1.0, 1.75))) for _ in shapes]
    return fl.Graph(known[0][1], [fl.Neurons(name, shape, vth) for (name, shape), vth in zip(known[1:], vths, strict=True)], connections)


def _completed(layers: list[tuple[str, Shape]], connections: list[fl.Connection]) -> list[fl.Connection]:
    """A connection from every layer that nothing leaves to the next one it fits."""
    made = []
    for position, (name, shape) in enumerate(layers[:-1]):
        if not any(one.source == name for one in connections):
            for later, target in layers[position + 1 :]:
                if fitting(shape, target):
                    made.append(fl.Connection(source=name, target=later, **fitting(shape, target)[0]))
                    break
    return made


def _loops(draw: st.DrawFn, layers: list[tuple[str, Shape]], connections: list[fl.Connection], number: int) -> list[fl.Connection]:
    """Feedback that closes a cycle."""
    names = [name for name, _ in layers]
    edges = [(names.index(one.source), names.index(one.target)) for one in connections if one.source != "input"]
    possible = []
    for target in range(len(layers)):
        for source in sorted({target} | reachable(edges, target)):
            how = [option for option in fitting(layers[source][1], layers[target][1]) if option["kind"] not in ("pool", "identity")]
            possible += [(source, target, option) for option in how if "pool" not in option]
    chosen = [draw(st.sampled_from(possible)) for _ in range(number)] if possible else []
    return [fl.Connection(source=names[source], target=names[target], **how) for source, target, how in chosen]


def contracting(graph: fl.Graph, *, batch_norm: bool, seed: int = 0, **options: Any) -> fl.FSNN:
    """A network in float64 whose loops contract fast, with drives inside the clamp for most neurons."""
    torch.manual_seed(seed)
    net = fl.FSNN(graph, classes=3, vth=1.5, limit=0.2, norm="operator", batch_norm=batch_norm, **options).double()
    with torch.no_grad():
        for stage in net.stages:
            if stage.linear is not None:
                stage.linear.weight.mul_(0.3)
                stage.linear.bias.uniform_(0.1, 0.6)
            if stage.norm is not None:
                stage.norm.weight.uniform_(0.05, 0.15)
                stage.norm.bias.uniform_(0.1, 0.6)
                stage.norm.running_mean.uniform_(-0.2, 0.2)
                stage.norm.running_var.uniform_(0.5, 2.0)
    return net
