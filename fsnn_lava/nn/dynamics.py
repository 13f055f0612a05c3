"""A float network ready to be run in time: every constant of a run worked out, and what the run leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from fsnn_lava.nn.neurons import LIF
from fsnn_lava.nn.operators import Operator


@dataclass(frozen=True, repr=False)
class Trace:
    """What T steps in spikes left behind, as `FSNN.simulate` returns it. Each layer is counted in its own time.

    Attributes:
        rates: [B, *shape] per layer: spikes per step, weighted by the leak (E3).
        counts: [B, *shape] per layer: number of spikes.
        potentials: [B, *shape] per layer: u[T], on the scale of vth.
        residuals: [B] per step: the largest |f(a) - a| of the last layer; empty unless asked for.
        returned: masked W times the rates of a single layer, if the simulation knows it; only used in training.
    """

    rates: tuple[Tensor, ...]
    counts: tuple[Tensor, ...]
    potentials: tuple[Tensor, ...]
    residuals: list[Tensor] = field(default_factory=list)
    returned: Tensor | None = None

    def __repr__(self) -> str:
        layers = ", ".join(f"{list(rates.shape)} mean {float(rates.mean()):.4f}" for rates in self.rates)
        return f"Trace(rates {layers})"

    @staticmethod
    def joined(parts: Sequence[Trace]) -> Trace:
        """Join the parts of a batch.

        Args:
            parts: at least one, with the same layers; `residuals` and `returned` are dropped if there are several.
        """
        if len(parts) == 1:
            return parts[0]
        rates, counts, potentials = (
            tuple(torch.cat(layer) for layer in zip(*(getattr(part, name) for part in parts), strict=True))
            for name in ("rates", "counts", "potentials")
        )
        return Trace(rates, counts, potentials)


@dataclass(frozen=True, kw_only=True)
class Current:
    """Spikes of one layer -> current of another: mask * (W s + bias)."""

    operator: Operator
    weight: Tensor
    bias: Tensor | None = None  # [channels], or [*out_shape]
    mask: Tensor | None = None  # [B, *out_shape], constant over the run

    def __call__(self, spikes: Tensor) -> Tensor:
        shared = self.bias if self.bias is None or self.bias.dim() == 1 else None  # one bias per channel
        current = self.operator.apply(self.weight, spikes, shared)
        if shared is None and self.bias is not None:
            current = current + self.bias
        return current if self.mask is None else current.mul_(self.mask)

    def part(self, rows: slice) -> Current:
        """The same for some samples of the batch."""
        return self if self.mask is None else replace(self, mask=self.mask[rows])


class Drive(Protocol):
    """The current of the first layer from outside, bias included."""

    @property
    def values(self) -> Tensor:
        """What it is computed from, [B, ...]."""

    def at(self, step: int) -> Tensor:
        """[B, *shape] in one step, from 0."""

    def over(self, steps: int) -> Tensor:
        """[B, *shape] if it is constant, [B, steps, *shape] otherwise."""

    def part(self, rows: slice) -> Drive:
        """The same for some samples of the batch."""


@dataclass(frozen=True)
class ConstantDrive:
    """The drive of an image."""

    values: Tensor  # [B, *shape], the current itself, masked

    def at(self, step: int) -> Tensor:
        return self.values

    def over(self, steps: int) -> Tensor:
        return self.values

    def part(self, rows: slice) -> ConstantDrive:
        return ConstantDrive(self.values[rows])


@dataclass(frozen=True)
class SequenceDrive:
    """The drive of an input that changes with the steps, computed frame by frame."""

    values: Tensor  # [B, T, *input shape], the frames
    current: Current  # of one frame

    def at(self, step: int) -> Tensor:
        return self.current(self.values[:, step])

    def over(self, steps: int) -> Tensor:
        """Takes `steps` times the memory of one frame's current."""
        unmasked = replace(self.current, mask=None)
        current = unmasked(self.values[:, :steps].flatten(0, 1)).unflatten(0, (len(self.values), steps))
        return current if self.current.mask is None else current * self.current.mask[:, None]

    def part(self, rows: slice) -> SequenceDrive:
        return SequenceDrive(self.values[rows], self.current.part(rows))


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """What every layer's current is, for one batch."""

    drive: Drive
    forward: tuple[Current, ...]  # layer l's spikes -> current of layer l + 1
    feedback: Current | None  # the last layer's spikes -> current of the first
    neuron: LIF
    vth: float
    delay: int  # steps the feedback takes in the layers' own time: 1 sequential, N pipelined

    @property
    def samples(self) -> int:
        return len(self.drive.values)

    def part(self, rows: slice) -> Dynamics:
        """The same for some samples of the batch."""
        feedback = None if self.feedback is None else self.feedback.part(rows)
        return replace(self, drive=self.drive.part(rows), forward=tuple(one.part(rows) for one in self.forward), feedback=feedback)
