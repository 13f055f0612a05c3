"""The keys of a network graph in a recipe: tables of layers and connections."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from fsnn_lava.nn.graph import CONNECTION_KINDS, Connection, ConnectionKind, Graph, Neurons
from fsnn_lava.nn.operators import Pair
from fsnn_lava.training.recipe_keys import key_rule, nested_recipe_keys


@dataclasses.dataclass(frozen=True)
class LayerKeys:
    """The keys of a layer: the arguments of `Neurons`."""

    name: str = key_rule(str)
    shape: tuple[int, ...] = key_rule(int, low=1, many=True)
    vth: float | None = key_rule(float, None, low=0.0, open_low=True)


@dataclasses.dataclass(frozen=True)
class ConnectionKeys:
    """The keys of a connection: the arguments of `Connection`; an omitted key has the default of its kind."""

    source: str = key_rule(str)
    target: str = key_rule(str)
    kind: ConnectionKind = key_rule(str, "dense", choices=CONNECTION_KINDS)
    kernel: int | Pair = key_rule(int, 1, low=1, pair=True)
    stride: int | Pair | None = key_rule(int, None, low=1, pair=True)
    padding: int | Pair | None = key_rule(int, None, low=0, pair=True)
    dilation: int | Pair = key_rule(int, 1, low=1, pair=True)
    groups: int = key_rule(int, 1, low=1)
    pool: int = key_rule(int, 1, low=1)
    gain: float = key_rule(float, 1.0)
    batch_norm: bool | None = key_rule(bool, None)
    limit: float | None = key_rule(float, None, low=0.0, open_low=True)


@dataclasses.dataclass(frozen=True)
class GraphKeys:
    """The layers in their order, and the connections between them (E13)."""

    layers: tuple[LayerKeys, ...] = dataclasses.field(default=(), metadata=nested_recipe_keys(LayerKeys))
    connections: tuple[ConnectionKeys, ...] = dataclasses.field(default=(), metadata=nested_recipe_keys(ConnectionKeys))

    def graph(self, input_shape: Sequence[int]) -> Graph:
        """Return the graph for inputs of this shape; BadArchitecture names what does not fit."""
        layers = [Neurons(layer.name, layer.shape, layer.vth) for layer in self.layers]
        connections = [Connection(**{key.name: getattr(one, key.name) for key in dataclasses.fields(one)}) for one in self.connections]
        return Graph(tuple(input_shape), layers, connections)
