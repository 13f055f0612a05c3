"""Checks for a whole network graph: everything that a single connection cannot check."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from fsnn_lava.errors import BadArchitecture, BadArgument
from fsnn_lava.nn.graph_paths import reachable

if TYPE_CHECKING:
    from fsnn_lava.nn.graph import Connection, Graph

Reached = dict[int, frozenset[int]]  # for each position, which layers it leads to
LAYERS_MAX = 200
CONNECTIONS_MAX = 1000


def check_graph(graph: Graph) -> None:
    """Raise BadArchitecture unless a network graph is valid; the message says what is wrong and how to fix it."""
    _check_layers(graph)
    for connection in graph.connections:
        _check_ends(graph, connection)
    reached = {position: reachable(graph.edges, position) for position in range(-1, len(graph.layers))}
    for connection in graph.connections:
        graph.operator(connection)
        _check_feedback(graph, connection, reached)
    _check_paths(graph, reached)


def check_single_loop(graph: Graph) -> None:
    """Raise BadArgument unless the graph has a single loop, because norm="loop" multiplies all norms around one."""
    if not graph.is_chain:
        raise BadArgument(
            "norm 'loop' restricts one loop, from the last layer of a chain to the first; this graph has other connections. "
            "Use norm 'operator' with a smaller limit, and check with spectral_radius() whether the network is certified"
        )


def _check_layers(graph: Graph) -> None:
    from fsnn_lava.nn.graph import Connection, Neurons

    if not all(isinstance(one, Neurons) for one in graph.layers) or not all(isinstance(one, Connection) for one in graph.connections):
        raise BadArchitecture("a graph takes layers of type Neurons and connections of type Connection")
    if not graph.layers:
        raise BadArchitecture("a graph needs at least one layer")
    if len(graph.layers) > LAYERS_MAX or len(graph.connections) > CONNECTIONS_MAX:
        raise BadArchitecture(
            f"a graph has at most {LAYERS_MAX} layers and {CONNECTIONS_MAX} connections, "
            f"got {len(graph.layers)} and {len(graph.connections)}"
        )
    names = [layer.name for layer in graph.layers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadArchitecture(f"two layers are called {twice!r}; every layer needs a different name")


def _check_ends(graph: Graph, connection: Connection) -> None:
    for end, name in (("source", connection.source), ("target", connection.target)):
        if name not in graph.positions:
            close = difflib.get_close_matches(str(name)[:100], graph.positions, n=1)
            known = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(list(graph.positions)[:20])}"
            raise BadArchitecture(f"{connection}: there is no {end} {name!r}; {known}")
    if graph.positions[connection.target] < 0:
        raise BadArchitecture(f"{connection}: nothing can connect to the input; feedback ends in a layer, usually the first")


def _check_feedback(graph: Graph, connection: Connection, reached: Reached) -> None:
    if graph.is_forward(connection):
        if connection.limit is not None:
            raise BadArchitecture(f"{connection}: limit applies to feedback only, but this connection goes forward")
        return
    if connection.fixed:
        raise BadArchitecture(
            f"{connection}: feedback is learned and restricted (E6), but kind {connection.kind!r} has no weights; use 'conv' or 'dense', "
            "for example a depthwise convolution (groups = channels)"
        )
    if connection.batch_norm:
        raise BadArchitecture(f"{connection}: feedback has no batch norm (E7); leave batch_norm out")
    if connection.pool > 1:
        raise BadArchitecture(f"{connection}: feedback cannot be averaged (pool); use a stride")
    source, target = graph.ends(connection)
    if source not in reached[target]:
        names = [layer.name for layer in graph.layers]
        raise BadArchitecture(
            f"{connection}: it goes back to an earlier layer but does not close a cycle: "
            f"nothing leads from {connection.target!r} to {connection.source!r}. "
            f"List {connection.source!r} before {connection.target!r} to make it a forward connection; the order is {', '.join(names[:20])}"
        )


def _check_paths(graph: Graph, reached: Reached) -> None:
    """Check that every layer depends on the input, and the readout on every layer."""
    last = len(graph.layers) - 1
    for position, layer in enumerate(graph.layers):
        if position not in reached[-1]:
            raise BadArchitecture(f"layer {layer.name!r}: nothing leads to it from the input; connect it, or remove it")
        if position != last and last not in reached[position]:
            raise BadArchitecture(
                f"layer {layer.name!r}: nothing leads from it to the last layer, {graph.layers[last].name!r}, which is read out; "
                "connect it, or list the layer to be read out last"
            )
