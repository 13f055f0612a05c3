"""The layers of an NIR graph in order, and the linear paths between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.nir_file import NirGraph, NirNode
from fsnn_lava.importing.nir_modules import check_nir_module_kind
from fsnn_lava.importing.nir_neurons import NEURONS

PATHS_MAX = 1024
TRIES_MAX = 10_000  # orders of layers, of which there may be very many


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
        check_nir_module_kind(node)
    entry, leave = _border(graph, "Input"), _border(graph, "Output")
    paths: list[NirPath] = []
    pending, seen = [entry], {entry}
    while pending:
        for path in _from(graph, pending.pop(0), leave):
            paths.append(path)
            if len(paths) > PATHS_MAX:
                raise BadArgument(f"the graph has more than {PATHS_MAX} connections between its layers")
            if path.target != leave and path.target not in seen:
                seen.add(path.target)
                pending.append(path.target)
    if len(seen) == 1:
        raise BadArgument("the graph has no IF or LIF node that its input leads to, so there is no layer of neurons")
    return NirPaths(entry, _order(paths, entry, leave, len(seen)), leave, tuple(paths))


def _order(paths: Sequence[NirPath], entry: str, leave: str, stations: int) -> tuple[str, ...]:
    """All layers in an order in which each leads to the next, from the input to the output."""
    after: dict[str, list[str]] = {}
    for path in paths:
        after.setdefault(path.source, []).append(path.target)
    pending: list[tuple[str, ...]] = [(entry,)]
    for _ in range(TRIES_MAX):
        if not pending:
            break
        tried = pending.pop()
        if len(tried) == stations and leave in after.get(tried[-1], ()):
            return tried[1:]
        pending += [(*tried, name) for name in reversed(after.get(tried[-1], [])) if name != leave and name not in tried]
    raise BadArgument("there is no order of the layers in which each leads to the next, from the input to the output")


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
