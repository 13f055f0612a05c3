"""The rate map a -> f(a) of an integer network, in float64 (E4): its rates approach a fixed point of f. Currents are in weight units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, Synapse
from fsnn_lava.ir.synapse_operator import apply_operator, synapse_operator_gain
from fsnn_lava.solvers.anderson import anderson

Rates = tuple[NDArray[np.float64], ...]
Drive = Rates  # what enters every layer from outside, bias included: [B, *shape] per layer, weight units per step
_ONE = 2**limits.STATE_FRACTION_BITS  # a weight unit in units of a potential


@dataclass(frozen=True)
class RateEquilibrium:
    """Rates with a = f(a), one [B, *shape] per layer, spikes per step."""

    rates: Rates
    residual: NDArray[np.float64]  # [B] max over neurons of |f(a) - a|
    steps: int  # evaluations of f
    converged: bool  # residual <= tol for every sample


class RateMap:
    """The rate map of one ChipNetwork: f(a) = sigma(current(a) / threshold), all layers at once."""

    def __init__(self, chip: ChipNetwork) -> None:
        self.chip = chip
        self._weights = {id(s): torch.from_numpy(s.weight.astype(np.float64)) for s in chip.synapses}
        self.rate_max = 1.0 if chip.delta is None else chip.delta.rate_max
        self._thresholds = [layer.per_neuron(layer.threshold).astype(np.float64) for layer in chip.layers]

    def drive(self, values: NDArray[Any]) -> Drive:
        """Return the current from outside into every layer per step, bias included: [B, *shape] per layer, weight units.

        For a static input, it is exactly what E9 adds at every step; for events [B, T, *shape], their average with the weights of E3.
        """
        chip = self.chip
        if chip.input.kind == "events" and values.ndim != 2 + len(chip.input.shape):
            raise BadArgument(f"events must be [B, T, {', '.join(map(str, chip.input.shape))}], got shape {values.shape}")
        return tuple(self._layer_drive(position, values) for position in range(len(chip.layers)))

    def _layer_drive(self, position: int, values: NDArray[Any]) -> NDArray[np.float64]:
        chip, layer = self.chip, self.chip.layers[position]
        sources = [s for s in chip.into(layer) if s.source == INPUT]
        if not sources and not (position == 0 and chip.host_drive is not None):
            return np.broadcast_to(layer.bias.astype(np.float64), (len(values), *layer.shape))
        if chip.input.kind != "events":
            return input_current(chip, values, position=position).astype(np.float64) / _ONE
        total = np.broadcast_to(layer.bias.astype(np.float64), (len(values), *layer.shape))
        for synapse in sources:
            total = total + self._event_drive(synapse, values)
        return total

    def _event_drive(self, synapse: Synapse, values: NDArray[Any]) -> NDArray[np.float64]:
        chip, steps = self.chip, values.shape[1]
        if chip.delta is not None:
            shares = chip.delta.frame_weights(steps) / 2.0**limits.FRAME_BITS
            return self.apply_synapse(synapse, np.einsum("t,bt...->b...", shares, values.astype(np.float64)))
        shares = chip.leak ** np.arange(steps - 1, -1, -1, dtype=np.float64) / chip.weight_sum(steps)
        if synapse.exponent >= -limits.STATE_FRACTION_BITS:  # no step is rounded, so the frames can be averaged first
            return self.apply_synapse(synapse, np.einsum("t,bt...->b...", shares, values.astype(np.float64)))
        total = np.zeros((len(values), *chip.layer(synapse.target).shape))
        for step, share in enumerate(shares):  # below 2**-6 every step is rounded down separately
            total += share * np.floor(self.apply_synapse(synapse, values[:, step]) * _ONE) / _ONE
        return total

    def apply_synapse(self, synapse: Synapse, rates: NDArray[Any]) -> NDArray[np.float64]:
        """Return 2**exponent (weight @ rates), [B, *target], in weight units per step, not rounded."""
        weight = self._weights.get(id(synapse))
        if weight is None:
            raise BadArgument(f"{synapse} does not belong to this network")
        messages = torch.from_numpy(np.ascontiguousarray(rates, dtype=np.float64))
        return (apply_operator(synapse, weight, messages) * 2.0**synapse.exponent).numpy()

    def currents(self, rates: Rates, drive: Drive) -> Rates:
        """Return the current into every layer, in weight units: drive (or bias) plus every synapse applied to the rates of its source."""
        return tuple(self._current(position, rates, drive) for position in range(len(self.chip.layers)))

    def apply(self, rates: Rates, drive: Drive) -> Rates:
        """Return f(a); every layer is computed from the given rates, not from those just computed."""
        found = self.currents(rates, drive)
        return tuple(np.clip(current / threshold, 0.0, self.rate_max) for current, threshold in zip(found, self._thresholds, strict=True))

    def forward(self, given: Mapping[int, NDArray[np.float64]], drive: Drive) -> Rates:
        """Return the rates of all layers, one after another; `given` are those that feedback carries, by the position of its source."""
        done: list[NDArray[np.float64]] = []
        for position, threshold in enumerate(self._thresholds):
            current = drive[position]
            for synapse in self.chip.into(self.chip.layers[position]):
                if synapse.source != INPUT:
                    source = self.chip.index(synapse.source)
                    current = current + self.apply_synapse(synapse, done[source] if source < position else given[source])
            done.append(np.clip(current / threshold, 0.0, self.rate_max))
        return tuple(done)

    def _current(self, position: int, rates: Rates, drive: Drive) -> NDArray[np.float64]:
        total = drive[position]
        for synapse in self.chip.into(self.chip.layers[position]):
            if synapse.source != INPUT:
                total = total + self.apply_synapse(synapse, rates[self.chip.index(synapse.source)])
        return total

    def solve(self, values: NDArray[Any], *, tol: float = 1e-9, max_steps: int = 500) -> RateEquilibrium:
        """Solve for the equilibrium for raw input `values`; `converged` says whether |f(a) - a| <= tol was reached everywhere."""
        return self.solve_drive(self.drive(values), tol=tol, max_steps=max_steps)

    def solve_drive(self, drive: Drive, *, tol: float = 1e-9, max_steps: int = 500, start: Rates | None = None) -> RateEquilibrium:
        """Solve for the equilibrium of a known drive, from the rates `start` or from rest; the unknowns are the feedback sources' rates."""
        sources = feedback_sources(self.chip) or [len(self.chip.layers) - 1]
        shapes = [(len(drive[0]), *self.chip.layers[position].shape) for position in sources]
        ends = np.cumsum([int(np.prod(shape[1:])) for shape in shapes])[:-1]

        def split(flat: Tensor) -> dict[int, NDArray[np.float64]]:
            parts = np.split(flat.numpy(), ends, axis=1)
            return {position: part.reshape(shape) for position, part, shape in zip(sources, parts, shapes, strict=True)}

        def join(rates: Rates) -> Tensor:
            return torch.from_numpy(np.concatenate([rates[position].reshape(len(drive[0]), -1) for position in sources], axis=1))

        rest = {position: np.zeros(shape) for position, shape in zip(sources, shapes, strict=True)}
        first = join(self.forward(rest, drive) if start is None else start)
        found = anderson(lambda flat: join(self.forward(split(flat), drive)), first, tol=tol, max_steps=max_steps)
        return self._outcome(self.forward(split(found.value), drive), drive, found.steps, tol)

    def _outcome(self, rates: Rates, drive: Drive, steps: int, tol: float) -> RateEquilibrium:
        after = self.apply(rates, drive)
        gaps = [np.abs(a - b).reshape(len(a), -1).max(axis=1) for a, b in zip(rates, after, strict=True)]
        residual = np.max(gaps, axis=0)
        return RateEquilibrium(rates, residual, steps, bool(np.all(residual <= tol)))

    def residual(self, rates: Rates, drive: Drive) -> NDArray[np.float64]:
        """Return the residual ||f(a) - a||, [B], the Euclidean norm over all neurons."""
        return rate_vector_length(tuple(after - rate for after, rate in zip(self.apply(rates, drive), rates, strict=True)))

    def gains(self) -> NDArray[np.float64]:
        """Return M of E11, [N, N]: M[l, k] bounds how much a change of layer k's rates changes those of layer l."""
        chip = self.chip
        matrix = np.zeros((len(chip.layers),) * 2)
        for synapse in chip.synapses:
            if synapse.source != INPUT:
                matrix[chip.index(synapse.target), chip.index(synapse.source)] += synapse_operator_gain(chip, synapse)
        return matrix

    def gain(self) -> float:
        """Return the spectral radius of `gains`: below 1, the equilibrium is unique and every start converges to it (E6)."""
        return float(np.abs(np.linalg.eigvals(self.gains())).max())


def feedback_sources(chip: ChipNetwork) -> list[int]:
    """Return the positions of the layers that feedback comes from, ascending: their rates determine all others."""
    return sorted({chip.index(synapse.source) for synapse in chip.feedback})


def rows_of(parts: Rates, rows: slice | NDArray[np.intp]) -> Rates:
    """Return the rates of some of the samples, [B, ...] per layer."""
    return tuple(part[rows] for part in parts)


def rate_vector_length(parts: Rates) -> NDArray[np.float64]:
    """Return the Euclidean length over the neurons of all layers, [B]."""
    return np.sqrt(sum(np.square(part).reshape(len(part), -1).sum(axis=1) for part in parts))
