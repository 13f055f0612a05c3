"""Which layers of a network graph lead to which. Layers are positions from 0, the input is -1."""

from __future__ import annotations

from collections.abc import Iterable

Edge = tuple[int, int]  # positions of source and target


def reachable(edges: Iterable[Edge], start: int) -> frozenset[int]:
    """Positions that a path of one or more edges leads to from `start`."""
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
    """Sets of layers that influence themselves and each other, each ascending: the strongly connected components with a cycle."""
    listed = tuple(edges)
    reached = [reachable(listed, position) for position in range(layers)]
    found: list[tuple[int, ...]] = []
    for position in range(layers):
        if position in reached[position] and not any(position in one for one in found):
            found.append(tuple(other for other in sorted(reached[position]) if position in reached[other]))
    return tuple(found)
