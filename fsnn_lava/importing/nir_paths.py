"""Find the layers of an NIR graph in order, and the linear paths between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.nir_file import NirGraph, NirNode
from fsnn_lava.importing.nir_modules import check_nir_module_kind
from fsnn_lava.importing.nir_neurons import NEURONS

PATHS_MAX = 1024
TRIES_MAX = 10_000  # orders of the layers that are tried; there may be very many


@dataclass(frozen=True, eq=False)
class NirPath:
    """A path of nodes from the input or a layer to the next layer or the output."""

    source: str
    nodes: tuple[NirNode, ...]
    target: str


@dataclass(frozen=True, eq=False)
class NirPaths:
    """The names of the input, the layers in order and the output, and every path between them."""

    source: str
    layers: tuple[str, ...]
    output: str
    paths: tuple[NirPath, ...]

    def into(self, target: str) -> list[NirPath]:
        """Return all paths that end at `target`."""
        return [path for path in self.paths if path.target == target]


def nir_paths(graph: NirGraph) -> NirPaths:
    """Follow the edges of an NIR graph from the input; raise BadArgument if it is not a network of layers."""
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
        raise BadArgument("the input of the graph leads to no IF or LIF node, so there is no layer of neurons")
    return NirPaths(entry, _order(paths, entry, leave, len(seen)), leave, tuple(paths))


def _order(paths: Sequence[NirPath], entry: str, leave: str, stations: int) -> tuple[str, ...]:
    """Return all layers, ordered so that each leads to the next, from the input to the output."""
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
    raise BadArgument("the layers cannot be ordered so that each leads to the next, from the input to the output")


def _border(graph: NirGraph, kind: str) -> str:
    found = [name for name, node in graph.nodes.items() if node.kind == kind and "." not in name]
    if len(found) != 1:
        raise BadArgument(f"the graph must have exactly one {kind} node, got {len(found)}")
    return found[0]


def _from(graph: NirGraph, source: str, leave: str) -> Iterator[NirPath]:
    """Yield every path from a node to the next layer or to the output."""
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
