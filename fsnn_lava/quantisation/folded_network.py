"""FoldedNetwork: the float network in the chip's form, in float64 and physical units. It can be simulated and solved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.current import Current
from fsnn_lava.nn.drive import ConstantDrive, Drive, SequenceDrive
from fsnn_lava.nn.dynamics import SCHEDULES, Dynamics, Schedule
from fsnn_lava.nn.loop_map import Equilibrium
from fsnn_lava.nn.neurons import LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Kind, Operator, Shape
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.nn.simulation import simulate
from fsnn_lava.nn.trace import Trace
from fsnn_lava.solvers.anderson import anderson


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldedConnection:
    """A linear operation with its weight, in float64."""

    operator: Operator
    weight: Tensor

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
        """[B, *in_shape] -> [B, *out_shape]."""
        return self.operator.apply(self.weight, values)

    def with_weight(self, weight: Tensor) -> FoldedConnection:
        """The same connection with another weight."""
        return replace(self, weight=weight)

    def norm_bound(self) -> float:
        """A guaranteed upper bound of the operator's norm (E6)."""
        return self.operator.norm_bound(self.weight.numpy())


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldedLayer:
    """Neurons and the connection into them: current = connection(source) + bias."""

    shape: Shape
    connection: FoldedConnection
    bias: Tensor  # [*shape]

    def current(self, values: Tensor) -> Tensor:
        """[B, *in_shape] -> [B, *shape]."""
        return self.connection.apply(values) + self.bias

    def simulated(self) -> Current:
        """The layer in the form that a simulation needs."""
        return Current(operator=self.connection.operator, weight=self.connection.weight, bias=self.bias)


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldedNetwork:
    """Takes raw values [B, *input_shape], or [B, T, *input_shape] for a sequence; everything in float64."""

    input_shape: Shape
    normalisation: Normalisation  # folded into the weights, kept for reference
    layers: tuple[FoldedLayer, ...]
    feedback: FoldedConnection | None
    readout_weight: Tensor  # [classes, N]
    readout_bias: Tensor  # [classes]
    vth: float
    neuron: LIF
    steps: int
    class_names: tuple[str, ...] = ()
    architecture: str = ""

    def average(self, values: Tensor, steps: int) -> Tensor:
        """x* of E3 in raw values, float64."""
        values = self._checked(values, steps)
        if values.dim() == len(self.input_shape) + 1:
            return values
        weights = torch.tensor(self.neuron.weights(steps), dtype=torch.float64)
        return torch.einsum("t,bt...->b...", weights, values[:, :steps])

    def drive(self, values: Tensor, steps: int | None = None) -> Tensor:
        """F¹x* + b¹, [B, *shape of layer 1]."""
        return self.layers[0].current(self.average(values, steps or self.steps))

    def around(self, last: Tensor, drive: Tensor) -> tuple[Tensor, ...]:
        """f of E4: rates of every layer in turn, given those of the last layer, where the feedback starts."""
        current = drive if self.feedback is None else drive + self.feedback.apply(last)
        rates = [rate_of(current, self.vth)]
        for layer in self.layers[1:]:
            rates.append(rate_of(layer.current(rates[-1]), self.vth))
        return tuple(rates)

    def solve(self, values: Tensor, *, steps: int | None = None, tol: float = 1e-9, max_steps: int = 500) -> Equilibrium:
        """Rates with a = f(a); `converged` says whether `tol` was reached."""
        drive = self.drive(values, steps)
        start = self.around(torch.zeros(len(drive), *self.layers[-1].shape, dtype=torch.float64), drive)[-1]
        found = anderson(lambda last: self.around(last, drive)[-1], start, tol=tol, max_steps=max_steps)
        return Equilibrium(self.around(found.value, drive), found.residual, found.steps, found.converged)

    def simulate(self, values: Tensor, steps: int | None = None, *, schedule: Schedule = "pipelined") -> Trace:
        """Run in spikes from rest (E1, E2)."""
        steps = steps or self.steps
        if schedule not in SCHEDULES:
            raise BadArgument(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
        values = self._checked(values, steps)
        first, currents = self.layers[0], [layer.simulated() for layer in self.layers]
        drive: Drive
        if values.dim() == len(self.input_shape) + 1:
            drive = ConstantDrive(first.current(values))
        else:
            drive = SequenceDrive(values, currents[0])
        delay = 1 if schedule == "sequential" else len(self.layers)
        feedback = Current(operator=self.feedback.operator, weight=self.feedback.weight) if self.feedback else None
        dynamics = Dynamics(drive=drive, forward=tuple(currents[1:]), feedback=feedback, neuron=self.neuron, vth=self.vth, delay=delay)
        return simulate(dynamics, steps)

    def logits(self, last: Tensor) -> Tensor:
        """[B, classes] of the last layer's rates."""
        return last.flatten(1) @ self.readout_weight.T + self.readout_bias

    def gains(self) -> NDArray[np.float64]:
        """M of E11, [N, N]."""
        matrix = np.zeros((len(self.layers),) * 2)
        for position, layer in enumerate(self.layers[1:], start=1):
            matrix[position, position - 1] = layer.connection.norm_bound() / self.vth
        if self.feedback is not None:
            matrix[0, -1] += self.feedback.norm_bound() / self.vth
        return matrix

    def _checked(self, values: Tensor, steps: int) -> Tensor:
        shape = tuple(values.shape)
        if shape[1:] != self.input_shape and not (len(shape) > 2 and shape[2:] == self.input_shape and shape[1] >= steps):
            raise BadArgument(f"values must be [B, *{self.input_shape}] or [B, T >= {steps}, *{self.input_shape}], got {shape}")
        return values.to(torch.float64)
