"""The map a -> f(a) of an integer network, in float64 (E4): its rates tend to a fixed point of f. Currents are in weight units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse
from fsnn_lava.nn.operators import Convolution, Dense, Operator, Shape, TransposedConvolution
from fsnn_lava.solvers.anderson import anderson

Rates = tuple[NDArray[np.float64], ...]
_ONE = 2**limits.STATE_FRACTION_BITS  # a weight unit in units of a potential


@dataclass(frozen=True)
class RateEquilibrium:
    """Rates with a = f(a), one [B, *shape] per layer, spikes per step."""

    rates: Rates
    residual: NDArray[np.float64]  # [B] max over neurons of |f(a) - a|
    steps: int  # evaluations of f
    converged: bool  # residual <= tol for every sample


class RateMap:
    """f of one ChipNetwork: f(a) = sigma(current(a) / threshold), all layers at once."""

    def __init__(self, chip: ChipNetwork) -> None:
        self.chip = chip
        self._weights = {id(s): torch.from_numpy(s.weight.astype(np.float64)) for s in chip.synapses}
        self._thresholds = [layer.per_neuron(layer.threshold).astype(np.float64) for layer in chip.layers]

    def drive(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """The current from outside into layer 1 per step, bias included: [B, *shape of layer 1], weight units.

        Static input: exactly what E9 adds at every step. Events [B, T, *shape]: their average with the weights of E3.
        """
        chip = self.chip
        if chip.input.kind != "events":
            return input_current(chip, values).astype(np.float64) / _ONE
        if values.ndim != 2 + len(chip.input.shape):
            raise BadArgument(f"events must be [B, T, {', '.join(map(str, chip.input.shape))}], got shape {values.shape}")
        return self._event_drive(values) + chip.layers[0].bias

    def _event_drive(self, values: NDArray[Any]) -> NDArray[np.float64]:
        chip, steps = self.chip, values.shape[1]
        synapse = next(s for s in chip.synapses if s.source == "input")
        shares = chip.leak ** np.arange(steps - 1, -1, -1, dtype=np.float64) / chip.weight_sum(steps)
        if synapse.exponent >= -limits.STATE_FRACTION_BITS:  # no step is rounded: average first
            return self.apply_synapse(synapse, np.einsum("t,bt...->b...", shares, values.astype(np.float64)))
        total = np.zeros((len(values), *chip.layers[0].shape))
        for step, share in enumerate(shares):  # below 2**-6 every step is rounded down on its own
            total += share * np.floor(self.apply_synapse(synapse, values[:, step]) * _ONE) / _ONE
        return total

    def apply_synapse(self, synapse: Synapse, rates: NDArray[Any]) -> NDArray[np.float64]:
        """2**exponent (weight @ rates): [B, *target] weight units per step, not rounded."""
        weight = self._weights.get(id(synapse))
        if weight is None:
            raise BadArgument(f"{synapse} does not belong to this network")
        messages = torch.from_numpy(np.ascontiguousarray(rates, dtype=np.float64))
        return (apply_linear(synapse, weight, messages) * 2.0**synapse.exponent).numpy()

    def currents(self, rates: Rates, drive: NDArray[np.float64]) -> Rates:
        """Current into every layer, weight units: drive (or bias) plus every synapse applied to the rates of its source."""
        return tuple(self._current(position, rates, drive) for position in range(len(self.chip.layers)))

    def apply(self, rates: Rates, drive: NDArray[np.float64]) -> Rates:
        """f(a), every layer from the rates given (not from those just computed)."""
        found = self.currents(rates, drive)
        return tuple(np.clip(current / threshold, 0.0, 1.0) for current, threshold in zip(found, self._thresholds, strict=True))

    def forward(self, last: NDArray[np.float64], drive: NDArray[np.float64]) -> Rates:
        """Rates of all layers, one after the other, given those of the last layer, where the feedback starts."""
        rates: list[NDArray[np.float64]] = [np.zeros((len(drive), *layer.shape)) for layer in self.chip.layers]
        rates[-1] = last
        done: list[NDArray[np.float64]] = []
        for position, threshold in enumerate(self._thresholds):
            current = self._current(position, tuple(done + rates[len(done) :]), drive)
            done.append(np.clip(current / threshold, 0.0, 1.0))
        return tuple(done)

    def _current(self, position: int, rates: Rates, drive: NDArray[np.float64]) -> NDArray[np.float64]:
        layer = self.chip.layers[position]
        total = drive if position == 0 else np.broadcast_to(layer.bias.astype(np.float64), (len(drive), *layer.shape))
        for synapse in self.chip.into(layer):
            if synapse.source != "input":
                total = total + self.apply_synapse(synapse, rates[self.chip.index(synapse.source)])
        return total

    def solve(self, values: NDArray[Any], *, tol: float = 1e-9, max_steps: int = 500) -> RateEquilibrium:
        """The equilibrium for raw input `values`; `converged` says whether |f(a) - a| <= tol was reached everywhere."""
        return self.solve_drive(self.drive(values), tol=tol, max_steps=max_steps)

    def solve_drive(
        self, drive: NDArray[np.float64], *, tol: float = 1e-9, max_steps: int = 500, start: Rates | None = None
    ) -> RateEquilibrium:
        """The same for a known drive [B, *shape of layer 1], from the rates `start`, or from rest."""
        shapes = [layer.shape for layer in self.chip.layers]
        sizes = [int(np.prod(shape)) for shape in shapes]
        if any(s.source != self.chip.layers[-1].name for s in self.chip.feedback):  # several loops: solve for all layers at once
            return self._solve_all(drive, shapes, sizes, tol, max_steps, start)

        def onto_itself(last: Tensor) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(self.forward(last.numpy(), drive)[-1]))

        last = self.forward(np.zeros((len(drive), *shapes[-1])), drive)[-1] if start is None else start[-1]
        found = anderson(onto_itself, torch.from_numpy(np.ascontiguousarray(last)), tol=tol, max_steps=max_steps)
        return self._outcome(self.forward(found.value.numpy(), drive), drive, found.steps, tol)

    def _solve_all(
        self,
        drive: NDArray[np.float64],
        shapes: list[tuple[int, ...]],
        sizes: list[int],
        tol: float,
        max_steps: int,
        start: Rates | None,
    ) -> RateEquilibrium:
        def split(flat: Tensor) -> Rates:
            parts = np.split(flat.numpy(), np.cumsum(sizes)[:-1], axis=1)
            return tuple(part.reshape(len(drive), *shape) for part, shape in zip(parts, shapes, strict=True))

        def onto_itself(flat: Tensor) -> Tensor:
            return torch.from_numpy(np.concatenate([r.reshape(len(drive), -1) for r in self.apply(split(flat), drive)], axis=1))

        parts = [np.zeros((len(drive), size)) for size in sizes] if start is None else [rate.reshape(len(drive), -1) for rate in start]
        found = anderson(onto_itself, torch.from_numpy(np.concatenate(parts, axis=1)), tol=tol, max_steps=max_steps)
        return self._outcome(split(found.value), drive, found.steps, tol)

    def _outcome(self, rates: Rates, drive: NDArray[np.float64], steps: int, tol: float) -> RateEquilibrium:
        after = self.apply(rates, drive)
        gaps = [np.abs(a - b).reshape(len(drive), -1).max(axis=1) for a, b in zip(rates, after, strict=True)]
        residual = np.max(gaps, axis=0)
        return RateEquilibrium(rates, residual, steps, bool(np.all(residual <= tol)))

    def residual(self, rates: Rates, drive: NDArray[np.float64]) -> NDArray[np.float64]:
        """[B] ||f(a) - a||, Euclidean over all neurons."""
        return rate_vector_length(tuple(after - rate for after, rate in zip(self.apply(rates, drive), rates, strict=True)))

    def gains(self) -> NDArray[np.float64]:
        """M of E11, [N, N]: M[l, k] bounds how much a change of layer k's rates changes those of layer l."""
        chip = self.chip
        matrix = np.zeros((len(chip.layers),) * 2)
        for synapse in chip.synapses:
            if synapse.source != "input":
                matrix[chip.index(synapse.target), chip.index(synapse.source)] += synapse_gain(chip, synapse)
        return matrix

    def gain(self) -> float:
        """Spectral radius of `gains`: below 1 the equilibrium is unique and every start converges to it (E6)."""
        return float(np.abs(np.linalg.eigvals(self.gains())).max())


def rate_vector_length(parts: Rates) -> NDArray[np.float64]:
    """[B] Euclidean length over the neurons of all layers."""
    return np.sqrt(sum(np.square(part).reshape(len(part), -1).sum(axis=1) for part in parts))


def synapse_gain(chip: ChipNetwork, synapse: Synapse) -> float:
    """Upper bound of ||diag(1 / threshold) 2**exponent weight|| on rates of its source (E6)."""
    target, source = chip.layer(synapse.target), chip.layer(synapse.source)
    threshold = np.broadcast_to(target.threshold, target.shape[:1]).astype(np.float64)
    weight = synapse.weight * 2.0**synapse.exponent
    operator = operator_of(synapse, source.shape)
    axes = tuple(axis for axis in range(weight.ndim) if axis != operator.target_axis)
    return operator.norm_bound(weight / np.expand_dims(threshold, axes))


def operator_of(synapse: Synapse, source: Shape) -> Operator:
    """The linear operation of a synapse whose source has this shape."""
    weight = synapse.weight.shape
    if isinstance(synapse, DenseSynapse):
        return Dense(in_shape=source, channels=weight[0])
    if isinstance(synapse, TransposedConvSynapse):
        return TransposedConvolution(
            in_shape=source,
            channels=weight[1],
            kernel=(weight[2], weight[3]),
            stride=synapse.stride,
            padding=synapse.padding,
            output_padding=synapse.output_padding,
        )
    if isinstance(synapse, ConvSynapse):
        kernel = (weight[2], weight[3])
        return Convolution(
            in_shape=source, channels=weight[0], kernel=kernel, stride=synapse.stride, padding=synapse.padding, groups=synapse.groups
        )
    raise BadArgument(f"{synapse}: unknown kind {type(synapse).__name__}; use a DenseSynapse, ConvSynapse or TransposedConvSynapse")


def apply_linear(synapse: Synapse, weight: Tensor, messages: Tensor) -> Tensor:
    """weight @ messages, [B, *target] from [B, *source]: exact where both hold integers and the sums stay below 2**53."""
    return operator_of(synapse, tuple(messages.shape[1:])).apply(weight, messages)
