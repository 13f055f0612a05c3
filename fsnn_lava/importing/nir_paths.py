"""The layers of an NIR graph in order, and the linear paths between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.nir_file import NirGraph, NirNode
from fsnn_lava.importing.nir_modules import check_kind
from fsnn_lava.importing.nir_neurons import NEURONS

PATHS_MAX = 1024


@dataclass(frozen=True, eq=False)
class NirPath:
    """The nodes between the input or a layer and the next layer or the output."""

    source: str
    nodes: tuple[NirNode, ...]
    target: str


@dataclass(frozen=True, eq=False)
class NirPaths:
    """Names of input, layers in order, and output; and every path between them."""

    source: str
    layers: tuple[str, ...]
    output: str
    paths: tuple[NirPath, ...]

    def into(self, target: str) -> list[NirPath]:
        """All paths that end there."""
        return [path for path in self.paths if path.target == target]


def nir_paths(graph: NirGraph) -> NirPaths:
    """Follow the edges from the input; BadArgument for what is not a network of layers."""
    for node in graph.nodes.values():
        check_kind(node)
    entry, leave = _border(graph, "Input"), _border(graph, "Output")
    paths: list[NirPath] = []
    layers: list[str] = []
    pending = [entry]
    while pending:
        source = pending.pop(0)
        for path in _from(graph, source, leave):
            paths.append(path)
            if len(paths) > PATHS_MAX:
                raise BadArgument(f"the graph has more than {PATHS_MAX} connections between its layers")
            if path.target != leave and path.target not in layers:
                layers.append(path.target)
                pending.append(path.target)
    if not layers:
        raise BadArgument("the graph has no IF or LIF node that its input leads to, so there is no layer of neurons")
    return NirPaths(entry, tuple(layers), leave, tuple(paths))


def _border(graph: NirGraph, kind: str) -> str:
    found = [name for name, node in graph.nodes.items() if node.kind == kind and "." not in name]
    if len(found) != 1:
        raise BadArgument(f"the graph needs one node of the kind {kind}, got {len(found)}")
    return found[0]


def _from(graph: NirGraph, source: str, leave: str) -> Iterator[NirPath]:
    """Every path from a node to the next layer or to the output."""
    pending: list[tuple[str, tuple[NirNode, ...]]] = [(target, ()) for target in graph.after(source)]
    while pending:
        name, nodes = pending.pop(0)
        node = graph.nodes[name]
        if name == leave or node.kind in NEURONS:
            yield NirPath(source, nodes, name)
            continue
        if any(one is node for one in nodes):
            raise BadArgument(f"{node}: a loop must contain a layer of neurons")
        if len(pending) > PATHS_MAX:
            raise BadArgument(f"the graph has more than {PATHS_MAX} connections between its layers")
        pending += [(target, (*nodes, node)) for target in graph.after(name)]
