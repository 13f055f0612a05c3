"""Read an NIR file from any framework as data: nodes with their numbers, and edges. Graphs within graphs are flattened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadFile
from fsnn_lava.files.hdf5 import CHILDREN_MAX, Hdf5Node, open_file

DEPTH_MAX = 4  # graphs within graphs
NODES_MAX = 256
_GRAPH = "NIRGraph"


@dataclass(frozen=True, eq=False)
class NirNode:
    """A node, its numbers in float64, its texts, and the notes that its writer added (`metadata`)."""

    name: str  # in an inner graph, prefixed with the names of the outer graphs, such as "rnn.lif"
    kind: str  # such as "LIF"
    numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"node {self.name!r} ({self.kind})"


@dataclass(frozen=True, eq=False)
class NirGraph:
    """All nodes by name, the edges between them, and the duration of a time step if the file has one."""

    nodes: Mapping[str, NirNode]
    edges: tuple[tuple[str, str], ...]
    dt: float | None

    def after(self, name: str) -> tuple[str, ...]:
        """Return the names of the nodes that a node leads to."""
        return tuple(target for source, target in self.edges if source == name)


def read_nir_graph(path: str | Path) -> NirGraph:
    """Read the graph in an NIR file; raise BadFile if it is damaged. Nothing in it is executed."""
    with open_file(path) as root:
        node = root.group("node")
        if _text(node, "type") != _GRAPH:
            raise node.fail(f"the outermost node must be an {_GRAPH}, got {_text(node, 'type')!r}")
        nodes: dict[str, NirNode] = {}
        edges: list[tuple[str, str]] = []
        _unpack(node, "", nodes, edges, depth=0)
        return NirGraph(nodes, tuple(dict.fromkeys(edges)), _time_step(node))
    raise AssertionError("unreachable")


def _unpack(graph: Hdf5Node, prefix: str, nodes: dict[str, NirNode], edges: list[tuple[str, str]], *, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise graph.fail(f"graphs may be nested at most {DEPTH_MAX} levels deep")
    members = graph.groups("nodes")
    inner = {name for name, member in members.items() if _text(member, "type") == _GRAPH}
    for name, member in members.items():
        if name in inner:
            _unpack(member, f"{prefix}{name}.", nodes, edges, depth=depth + 1)
        elif prefix + name in nodes:
            raise graph.fail(f"two nodes are named {prefix + name!r}")
        else:
            nodes[prefix + name] = _node(member, prefix + name)
        if len(nodes) > NODES_MAX:
            raise graph.fail(f"it has more than {NODES_MAX} nodes")
    for source, target in _edges(graph):
        for end in (source, target):
            if end not in members:
                raise graph.fail(f"an edge leads from {source!r} to {target!r}, but there is no node {end!r}")
        first = f"{prefix}{source}.{_border(members[source], 'Output')}" if source in inner else prefix + source
        second = f"{prefix}{target}.{_border(members[target], 'Input')}" if target in inner else prefix + target
        edges.append((first, second))


def _border(graph: Hdf5Node, kind: str) -> str:
    """Return the name of the only input or output of an inner graph."""
    found = [name for name, member in graph.groups("nodes").items() if _text(member, "type") == kind]
    if len(found) != 1:
        raise graph.fail(f"a graph within a graph needs one {kind}, got {len(found)}")
    return found[0]


def _node(group: Hdf5Node, name: str) -> NirNode:
    numbers: dict[str, NDArray[np.float64]] = {}
    texts: dict[str, str] = {}
    for member in group.names():
        if member in ("type", "metadata", "input_type", "output_type"):
            continue
        value = group.array(member, "iufbSO")
        if value.dtype.kind in "SO":
            texts[member] = _decoded(value)
        elif not np.all(np.isfinite(value) | (value == np.inf)):
            raise group.fail(f"{member!r} contains NaN or minus infinity")
        else:
            numbers[member] = value.astype(np.float64)
    return NirNode(name, _text(group, "type"), numbers, texts, _notes(group))


def _notes(group: Hdf5Node) -> dict[str, str]:
    """Return the strings in the metadata; its numbers are not needed."""
    if not group.has("metadata"):
        return {}
    notes = group.group("metadata")
    found = {}
    for name in notes.names():
        if notes.dataset(name).dtype.kind in "SO":
            found[name] = _decoded(notes.array(name, "SO"))
    return found


def _time_step(graph: Hdf5Node) -> float | None:
    if not graph.has("metadata") or not graph.group("metadata").has("dt"):
        return None
    value = graph.group("metadata").array("dt", "iuf", (0,))
    if not 0.0 < float(value) < np.inf:
        raise graph.fail(f"the duration of a step, 'dt', must be a positive number, got {float(value):g}")
    return float(value)


def _edges(graph: Hdf5Node) -> list[tuple[str, str]]:
    pairs = graph.array("edges", "SO", (1, 2))
    if pairs.size == 0:
        return []
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) > CHILDREN_MAX:
        raise graph.fail(f"'edges' must be at most {CHILDREN_MAX} pairs of names, got shape {pairs.shape}")
    return [(_decoded(source), _decoded(target)) for source, target in pairs]


def _text(group: Hdf5Node, name: str) -> str:
    return _decoded(group.array(name, "SO", (0, 1)))


def _decoded(value: Any) -> str:
    first = np.asarray(value).reshape(-1)[0]
    text = first.decode("utf-8") if isinstance(first, bytes) else str(first)
    if len(text) > 256:
        raise BadFile("a string in the file has more than 256 characters")
    return text
