"""The folded network: the float network in the chip's form, in float64 and physical units. It can be simulated and solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.current import Current
from fsnn_lava.nn.drive import ConstantDrive, Drive, SequenceDrive
from fsnn_lava.nn.dynamics import SCHEDULES, Dynamics, Schedule, Wire, own_delay
from fsnn_lava.nn.graph import INPUT
from fsnn_lava.nn.graph_paths import strong_components
from fsnn_lava.nn.loop_map import Equilibrium
from fsnn_lava.nn.neurons import IF, LIF, SigmaDelta
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Kind, Operator, Shape
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.nn.simulation import simulate
from fsnn_lava.nn.source_rates import SourceRates
from fsnn_lava.nn.trace import Trace
from fsnn_lava.solvers.anderson import anderson


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldedConnection:
    """A linear operation between two layers with its weight, in float64."""

    source: str  # a layer's name, or "input"
    target: str
    operator: Operator
    weight: Tensor

    def __str__(self) -> str:
        return f"connection {self.source!r} -> {self.target!r}"

    @property
    def kind(self) -> Kind:
        """Kind of its operator: dense, convolution or transposed convolution."""
        return self.operator.kind

    @property
    def in_shape(self) -> Shape:
        """Shape of one sample of its input."""
        return self.operator.in_shape

    @property
    def target_axis(self) -> int:
        """The axis of `weight` that counts target channels."""
        return self.operator.target_axis

    def apply(self, values: Tensor) -> Tensor:
        """Apply the connection to values [B, *in_shape]: return [B, *out_shape]."""
        return self.operator.apply(self.weight, values)

    def with_weight(self, weight: Tensor) -> FoldedConnection:
        """Return the same connection with another weight."""
        return replace(self, weight=weight)

    def norm_bound(self) -> float:
        """Return a guaranteed upper bound on the operator's norm (E6)."""
        return self.operator.norm_bound(self.weight.numpy())

    def simulated(self, bias: Tensor | None = None) -> Current:
        """Return the connection in the form that a simulation needs."""
        return Current(operator=self.operator, weight=self.weight, bias=bias)


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldedLayer:
    """A layer of neurons: rate = sigma((all connections into it + bias) / vth)."""

    name: str
    shape: Shape
    bias: Tensor  # [*shape]
    vth: float


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldedNetwork:
    """Takes raw values [B, *input_shape], or [B, T, *input_shape] for a sequence; everything is in float64, unless made `single`."""

    input_shape: Shape
    normalisation: Normalisation  # folded into the weights, kept for reference
    layers: tuple[FoldedLayer, ...]
    connections: tuple[FoldedConnection, ...]  # by target; those from the input first, feedback last
    readout_weight: Tensor  # [classes, N]
    readout_bias: Tensor  # [classes]
    neuron: LIF
    steps: int
    class_names: tuple[str, ...] = ()
    architecture: str = ""

    def single(self) -> FoldedNetwork:
        """Return the same network in float32: several times as fast, and accurate enough to choose a scale or a start."""
        layers = tuple(replace(layer, bias=layer.bias.float()) for layer in self.layers)
        connections = tuple(one.with_weight(one.weight.float()) for one in self.connections)
        weight, bias = self.readout_weight.float(), self.readout_bias.float()
        return replace(self, layers=layers, connections=connections, readout_weight=weight, readout_bias=bias)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of its weights."""
        return self.readout_weight.dtype

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of every layer, from 0; -1 for the input."""
        return {INPUT: -1, **{layer.name: position for position, layer in enumerate(self.layers)}}

    def ends(self, connection: FoldedConnection) -> tuple[int, int]:
        """Return the positions of a connection's source and target."""
        return self.positions[connection.source], self.positions[connection.target]

    def is_forward(self, connection: FoldedConnection) -> bool:
        """Return whether a connection goes to a later layer; otherwise it is feedback."""
        source, target = self.ends(connection)
        return source < target

    @property
    def feedback(self) -> tuple[FoldedConnection, ...]:
        """The connections to the same or an earlier layer."""
        return tuple(one for one in self.connections if not self.is_forward(one))

    def into(self, layer: FoldedLayer) -> tuple[FoldedConnection, ...]:
        """Return the connections that end on a layer, those from the input included."""
        return tuple(one for one in self.connections if one.target == layer.name)

    @cached_property
    def sources(self) -> SourceRates:
        """Where feedback starts, or the last layer if there is no feedback: these rates determine all others."""
        positions = sorted({self.positions[one.source] for one in self.feedback}) or [len(self.layers) - 1]
        return SourceRates(positions, [layer.shape for layer in self.layers])

    def average(self, values: Tensor, steps: int) -> Tensor:
        """Return x* of E3 in raw values."""
        values = self._checked(values, steps)
        if values.dim() == len(self.input_shape) + 1:
            return values
        weights = torch.tensor(self.neuron.weights(steps), dtype=self.dtype)
        return torch.einsum("t,bt...->b...", weights, values[:, :steps])

    def drive(self, values: Tensor, steps: int | None = None) -> tuple[Tensor, ...]:
        """Return what enters every layer from outside, bias included: F x* + b, [B, *shape] per layer."""
        average = self.average(values, steps or self.steps)
        return tuple(self.outside(layer, average) for layer in self.layers)

    def outside(self, layer: FoldedLayer, values: Tensor) -> Tensor:
        """Return what enters a layer from outside for average values [B, *input_shape], bias included."""
        entries = [one.apply(values) for one in self.into(layer) if one.source == INPUT]
        total = layer.bias.expand(len(values), *layer.shape) if not entries else entries[0] + layer.bias
        for entry in entries[1:]:
            total = total + entry
        return total

    def currents(self, rates: Sequence[Tensor], drive: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the current into every layer at these rates of all layers, [B, *shape] each."""
        return tuple(self._current(layer, dict(enumerate(rates)), own) for layer, own in zip(self.layers, drive, strict=True))

    def _current(self, layer: FoldedLayer, rates: Mapping[int, Tensor], total: Tensor) -> Tensor:
        for connection in self.into(layer):
            if connection.source != INPUT:
                total = total + connection.apply(rates[self.positions[connection.source]])
        return total

    def around(self, given: Sequence[Tensor], drive: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Apply f of E13: return the rates of every layer in turn, given those where feedback starts."""
        back = dict(zip(self.sources.positions, given, strict=True))
        rates: list[Tensor] = []
        for layer, own in zip(self.layers, drive, strict=True):
            known = {**back, **dict(enumerate(rates))}  # an earlier layer's new rates replace those given
            rates.append(rate_of(self._current(layer, known, own), layer.vth, self.neuron.rate_max))
        return tuple(rates)

    def solve(
        self,
        values: Tensor,
        *,
        steps: int | None = None,
        tol: float = 1e-9,
        max_steps: int = 500,
        start: tuple[Tensor, ...] | None = None,
    ) -> Equilibrium:
        """Solve a = f(a); `converged` says whether `tol` was reached. `start`: rates of every layer, by default those after one turn."""
        drive, sources = self.drive(values, steps), self.sources

        def once_around(given: Tensor) -> Tensor:
            return sources.join(self.around(sources.split(given), drive))

        first = once_around(sources.zeros(len(values), drive[0])) if start is None else sources.join(start)
        found = anderson(once_around, first, tol=tol, max_steps=max_steps)
        return Equilibrium(self.around(sources.split(found.value), drive), found.residual, found.steps, found.converged)

    def simulate(self, values: Tensor, steps: int | None = None, *, schedule: Schedule = "pipelined") -> Trace:
        """Simulate from rest: in spikes (E1, E2), or in changes of rates with `SigmaDelta` neurons (E14)."""
        steps = steps or self.steps
        if schedule not in SCHEDULES:
            raise BadArgument(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
        values = self._checked(values, steps)
        dynamics = Dynamics(
            shapes=tuple(layer.shape for layer in self.layers),
            drives=tuple(self._drive(layer, values) for layer in self.layers),
            wires=tuple(wire for layer in self.layers for wire in self._wires(layer, schedule)),
            neuron=self.neuron,
            vths=tuple(layer.vth for layer in self.layers),
        )
        return simulate(dynamics, steps)

    def _drive(self, layer: FoldedLayer, values: Tensor) -> Drive | None:
        """Return the current from outside, bias included, frame by frame for a sequence; None if the layer's first wire adds its bias."""
        into = self.into(layer)
        entries = [one for one in into if one.source == INPUT]
        if not entries:
            return None if self.is_forward(into[0]) else ConstantDrive(layer.bias.expand(len(values), *layer.shape))
        if values.dim() == len(self.input_shape) + 1:
            return ConstantDrive(self.outside(layer, values))
        return SequenceDrive(values, tuple(one.simulated(None if i else layer.bias) for i, one in enumerate(entries)))

    def _wires(self, layer: FoldedLayer, schedule: Schedule) -> list[Wire]:
        wires, into = [], self.into(layer)
        for i, connection in enumerate(into):
            source, target = self.ends(connection)
            if source >= 0:
                bias = layer.bias if i == 0 and source < target else None
                wires.append(Wire(source, target, own_delay(source, target, schedule), connection.simulated(bias)))
        return wires

    def logits(self, last: Tensor) -> Tensor:
        """Return the logits of the last layer's rates, [B, classes]."""
        return last.flatten(1) @ self.readout_weight.T + self.readout_bias

    def gains(self) -> NDArray[np.float64]:
        """Return the gains M of E13, [N, N]."""
        matrix = np.zeros((len(self.layers),) * 2)
        for connection in self.connections:
            source, target = self.ends(connection)
            if source >= 0:
                matrix[target, source] += connection.norm_bound() / self.layers[target].vth
        return matrix

    def longest_loop(self) -> int:
        """Return the size of the largest set of layers that influence themselves and each other; at least 1."""
        edges = [self.ends(one) for one in self.connections]
        return max([len(loop) for loop in strong_components(edges, len(self.layers))], default=1)

    def _checked(self, values: Tensor, steps: int) -> Tensor:
        shape = tuple(values.shape)
        if shape[1:] != self.input_shape and not (len(shape) > 2 and shape[2:] == self.input_shape and shape[1] >= steps):
            raise BadArgument(f"values must be [B, *{self.input_shape}] or [B, T >= {steps}, *{self.input_shape}], got {shape}")
        return values.to(self.dtype)


def in_spikes(folded: FoldedNetwork) -> FoldedNetwork:
    """Return the network with spiking neurons; BadArgument if its rates may exceed 1."""
    if folded.neuron.rate_max != 1.0:
        raise BadArgument("the network has the activation 'relu': its rates may exceed 1, which spikes cannot; use encoding 'delta'")
    return replace(folded, neuron=IF()) if isinstance(folded.neuron, SigmaDelta) else folded
