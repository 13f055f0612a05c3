"""The paper's networks as ChipNetworks with random weights: right in shape, untrained."""

from __future__ import annotations

import numpy as np

from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, Input, Layer, Readout, Synapse, TransposedConvSynapse
from fsnn_lava.nn.graph import Connection, Graph
from fsnn_lava.nn.notation import parse_notation
from fsnn_lava.nn.operators import Convolution, TransposedConvolution

PAPER = {
    "mnist": ("64C5s (F64C5)", (1, 28, 28), 10, "pixels"),
    "fashion": ("400 (F400)", (784,), 10, "pixels"),
    "nmnist": ("64C5s (F64C5)", (2, 34, 34), 10, "events"),
    "alexnet-f": ("96C3s-256C3-384C3s-384C3-256C3 (F96C3u)", (3, 32, 32), 10, "pixels"),
    "cifarnet-f": ("128C3s-256C3-512C3s-1024C3-512C3 (F128C3u)", (3, 32, 32), 10, "pixels"),
    "cifarnet-f-100": ("128C3s-256C3-512C3s-1024C3-512C3 (F128C3u)", (3, 32, 32), 100, "pixels"),
}


def paper_network(name: str, *, seed: int = 0, bits: int = 8) -> ChipNetwork:
    text, shape, classes, kind = PAPER[name]
    return network(text, input_shape=shape, classes=classes, kind=kind, seed=seed, bits=bits)


def network(text: str, *, input_shape: tuple[int, ...], classes: int, kind: str = "pixels", seed: int = 0, bits: int = 8) -> ChipNetwork:
    graph = parse_notation(text, input_shape=input_shape)
    rng = np.random.default_rng(seed)
    top = 2 ** (bits - 1) - 1

    def weight(*size: int) -> np.ndarray:
        values = rng.integers(-top, top + 1, size, dtype=np.int8)
        values.reshape(-1)[0] = top  # the full width is used
        return values

    layers = tuple(
        Layer(
            name=one.name, shape=one.out_shape, threshold=np.array(300), bias=np.zeros(one.out_shape, dtype=np.int32), scale=np.array(1.0)
        )
        for one in graph.layers
    )
    synapses = [_synapse(graph, connection, weight) for connection in graph.connections]
    readout = Readout(weight=weight(classes, layers[-1].size), bias=np.zeros(classes, dtype=np.int32), scale=np.array(1.0))
    return ChipNetwork(input=Input(kind=kind, shape=input_shape), layers=layers, synapses=tuple(synapses), readout=readout, steps=30)


def _synapse(graph: Graph, connection: Connection, weight) -> Synapse:
    operator, ends = graph.operator(connection), {"source": connection.source, "target": connection.target}
    values = weight(*operator.weight_shape)
    if isinstance(operator, Convolution):
        return ConvSynapse(**ends, weight=values, stride=operator.stride, padding=operator.padding)
    if isinstance(operator, TransposedConvolution):
        padding, rest = operator.padding, operator.output_padding
        return TransposedConvSynapse(**ends, weight=values, stride=operator.stride, padding=padding, output_padding=rest)
    return DenseSynapse(**ends, weight=values)
