"""Which layers of a network graph lead to which: reachability and strongly connected components."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsnn_lava.nn.graph import Graph


def reachable(graph: Graph, start: int) -> frozenset[int]:
    """Positions that a path of one or more connections leads to from position `start` (-1: the input)."""
    return _reachable(_targets(graph), start)


def loops(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """The strongly connected components that contain a cycle, each ascending: the layers that influence themselves and each other."""
    targets = _targets(graph)
    reached = [_reachable(targets, position) for position in range(len(graph.layers))]
    found: list[tuple[int, ...]] = []
    for position in range(len(graph.layers)):
        if position in reached[position] and not any(position in one for one in found):
            found.append(tuple(other for other in sorted(reached[position]) if position in reached[other]))
    return tuple(found)


def _targets(graph: Graph) -> dict[int, set[int]]:
    targets: dict[int, set[int]] = {position: set() for position in range(-1, len(graph.layers))}
    for connection in graph.connections:
        source, target = graph.ends(connection)
        targets[source].add(target)
    return targets


def _reachable(targets: dict[int, set[int]], start: int) -> frozenset[int]:
    seen: set[int] = set()
    front = list(targets[start])
    while front:
        position = front.pop()
        if position not in seen:
            seen.add(position)
            front.extend(targets[position])
    return frozenset(seen)
