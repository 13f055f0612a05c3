"""A network graph as lists, dicts, numbers and text, as in files and recipes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from fsnn_lava.errors import BadArchitecture
from fsnn_lava.nn.graph import Connection, Graph, Neurons

_CONNECTION = {field.name: field.default for field in dataclasses.fields(Connection)}


def graph_values(graph: Graph) -> dict[str, Any]:
    """Return the layers and connections of a graph as plain values, without defaults; `graph_of` reverses this."""
    layers = [_layer_values(layer) for layer in graph.layers]
    return {"layers": layers, "connections": [_values(connection) for connection in graph.connections]}


def graph_of(values: dict[str, Any], *, input_shape: Sequence[int]) -> Graph:
    """Return the graph that `graph_values` describes; BadArchitecture names the invalid key."""
    _check_keys(values, {"layers", "connections"}, "a graph")
    layers, connections = values.get("layers"), values.get("connections")
    for name, entries in (("layers", layers), ("connections", connections)):
        if not isinstance(entries, (list, tuple)) or not all(isinstance(entry, dict) for entry in entries):
            raise BadArchitecture(f"the {name} of a graph must be a list of tables")
    return Graph(tuple(input_shape), [_layer(entry) for entry in layers or ()], [_connection(entry) for entry in connections or ()])


def _layer_values(layer: Neurons) -> dict[str, Any]:
    return {"name": layer.name, "shape": list(layer.out_shape), **({} if layer.vth is None else {"vth": layer.vth})}


def _values(connection: Connection) -> dict[str, Any]:
    values = {name: getattr(connection, name) for name, default in _CONNECTION.items() if getattr(connection, name) != default}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _layer(values: dict[str, Any]) -> Neurons:
    _check_keys(values, {"name", "shape", "vth"}, "a layer")
    if "name" not in values or "shape" not in values:
        raise BadArchitecture(f"a layer needs a name and a shape, got {str(values)[:100]}")
    return Neurons(values["name"], values["shape"], values.get("vth"))


def _connection(values: dict[str, Any]) -> Connection:
    _check_keys(values, set(_CONNECTION), "a connection")
    ends = values.get("source"), values.get("target")
    if not all(isinstance(end, str) for end in ends):
        raise BadArchitecture(f"a connection needs a source and a target, the names of layers, got {str(values)[:100]}")
    arguments: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return Connection(**arguments)


def _check_keys(values: dict[str, Any], known: set[str], what: str) -> None:
    unknown = [str(key) for key in values if key not in known]
    if unknown:
        raise BadArchitecture(f"{what} has no {unknown[0][:60]!r}; known here: {', '.join(sorted(known))}")
