"""The architecture of a network: its graph and its readout, with sizes counted as in the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from numbers import Integral, Real

from fsnn_lava.errors import BadArchitecture, BadArgument
from fsnn_lava.nn.graph import Graph, Neurons
from fsnn_lava.nn.notation import parse_notation, print_notation
from fsnn_lava.nn.operators import Shape


@dataclass(frozen=True)
class Architecture:
    """A network graph with a readout of `classes` outputs on its last layer."""

    graph: Graph
    classes: int

    def __post_init__(self) -> None:
        if not isinstance(self.classes, Integral) or isinstance(self.classes, bool) or int(self.classes) < 1:
            raise BadArchitecture(f"classes must be an integer of at least 1, got {self.classes!r}")
        object.__setattr__(self, "classes", int(self.classes))  # a NumPy integer would be saved as something that cannot be loaded

    @cached_property
    def notation(self) -> str | None:
        """The graph in the paper's notation, if it has one."""
        return print_notation(self.graph)

    @property
    def text(self) -> str:
        """The notation, or else the number of layers and connections."""
        graph = self.graph
        return self.notation or (
            f"graph of {len(graph.layers)} layers, {len(graph.forward)} forward and {len(graph.feedback)} feedback connections"
        )

    @property
    def input_shape(self) -> Shape:
        """(N,) or (C, H, W)."""
        return self.graph.source_shape

    @property
    def layers(self) -> tuple[Neurons, ...]:
        """The layers in order; the last one is read out."""
        return tuple(self.graph.layers)

    @property
    def neurons(self) -> int:
        """The number of neurons as in the paper: inputs and spiking neurons."""
        return prod(self.input_shape) + sum(layer.size for layer in self.layers)

    @property
    def parameters(self) -> int:
        """The number of parameters as in the paper: the weights of every connection (no biases, no batch norm)."""
        learned = [one for one in self.graph.connections if not one.fixed]
        return sum(prod(self.graph.operator(one).weight_shape) for one in learned) + self.layers[-1].size * self.classes

    def __str__(self) -> str:
        return self.text


def parse_architecture(architecture: str | Graph, *, input_shape: Shape | None, classes: int) -> Architecture:
    """Return the architecture of a notation or a graph; BadArchitecture if its input shape is missing or does not match."""
    if isinstance(architecture, Graph):
        if input_shape is not None and tuple(input_shape) != architecture.source_shape:
            raise BadArchitecture(f"the graph takes inputs of shape {architecture.source_shape}, but input_shape is {tuple(input_shape)}")
        return Architecture(architecture, classes)
    if not isinstance(architecture, str):
        raise BadArchitecture(f"the architecture must be a notation such as '64C5s (F64C5)', or a Graph, got {type(architecture).__name__}")
    if input_shape is None:
        raise BadArchitecture(f"{architecture!r} needs input_shape: (N,) or (C, H, W), without batch and time")
    return Architecture(parse_notation(architecture, input_shape=tuple(int(n) for n in input_shape)), classes)


def with_thresholds(architecture: Architecture, vth: float | Sequence[float]) -> Architecture:
    """Return the architecture with thresholds from a sequence, one for each layer; a single number changes nothing."""
    if isinstance(vth, Real):
        if not 0 < float(vth) < math.inf:
            raise BadArgument(f"vth must be positive and finite, got {vth}")
        return architecture
    layers = architecture.layers
    if not isinstance(vth, Sequence) or isinstance(vth, str) or len(vth) != len(layers):
        raise BadArgument(f"vth must be one number, or one for each layer ({len(layers)} here), got {vth!r}")
    graph = replace(architecture.graph, layers=[replace(layer, vth=one) for layer, one in zip(layers, vth, strict=True)])
    return Architecture(graph, architecture.classes)
