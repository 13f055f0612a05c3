"""Paths in a network graph: which layers lead to which. Layers are positions from 0, and the input is -1."""

from __future__ import annotations

from collections.abc import Iterable

Edge = tuple[int, int]  # positions of source and target


def reachable(edges: Iterable[Edge], start: int) -> frozenset[int]:
    """Return the positions that can be reached from `start` along one or more edges."""
    targets: dict[int, list[int]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    seen: set[int] = set()
    front = list(targets.get(start, ()))
    while front:
        position = front.pop()
        if position not in seen:
            seen.add(position)
            front.extend(targets.get(position, ()))
    return frozenset(seen)


def strong_components(edges: Iterable[Edge], layers: int) -> tuple[tuple[int, ...], ...]:
    """Return the strongly connected components with a cycle: sets of layers that influence themselves and each other, each ascending."""
    listed = tuple(edges)
    reached = [reachable(listed, position) for position in range(layers)]
    found: list[tuple[int, ...]] = []
    for position in range(layers):
        if position in reached[position] and not any(position in one for one in found):
            found.append(tuple(other for other in sorted(reached[position]) if position in reached[other]))
    return tuple(found)
