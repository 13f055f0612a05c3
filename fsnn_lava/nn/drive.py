"""The current that enters a layer from outside: constant for an image, computed frame by frame for a sequence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from torch import Tensor

from fsnn_lava.nn.current import Current


class Drive(Protocol):
    """The current into a layer from outside, bias included."""

    @property
    def values(self) -> Tensor:
        """The values that the drive is computed from, [B, ...]."""

    def at(self, step: int) -> Tensor:
        """Return the drive in one step (the first is 0), [B, *shape]."""

    def over(self, steps: int) -> Tensor:
        """Return the drive over all steps: [B, *shape] if it is constant, otherwise [B, steps, *shape]."""

    def part(self, rows: slice) -> Drive:
        """Return the drive of some samples of the batch."""


@dataclass(frozen=True)
class ConstantDrive:
    """The drive of an image."""

    values: Tensor  # [B, *shape], the current itself, masked

    def at(self, step: int) -> Tensor:
        """Return the drive, which is the same in every step."""
        return self.values

    def over(self, steps: int) -> Tensor:
        """Return the constant drive, [B, *shape]."""
        return self.values

    def part(self, rows: slice) -> ConstantDrive:
        """Return the drive of some samples."""
        return ConstantDrive(self.values[rows])


@dataclass(frozen=True)
class SequenceDrive:
    """The drive of an input that changes with the steps, computed frame by frame."""

    values: Tensor  # [B, T, *input shape], the frames
    currents: tuple[Current, ...]  # from one frame, one for each connection from the input; they add up

    def at(self, step: int) -> Tensor:
        """Return the drive of one frame."""
        return _total([current(self.values[:, step]) for current in self.currents])

    def over(self, steps: int) -> Tensor:
        """Return the drive of every frame, which takes `steps` times the memory of one."""
        frames = self.values[:, :steps].flatten(0, 1)
        return _total([_over(current, frames, len(self.values), steps) for current in self.currents])

    def part(self, rows: slice) -> SequenceDrive:
        """Return the drive of some samples."""
        return SequenceDrive(self.values[rows], tuple(current.part(rows) for current in self.currents))


def _over(current: Current, frames: Tensor, samples: int, steps: int) -> Tensor:
    whole = replace(current, mask=None)(frames).unflatten(0, (samples, steps))
    return whole if current.mask is None else whole * current.mask[:, None]


def _total(currents: list[Tensor]) -> Tensor:
    total = currents[0]
    for current in currents[1:]:
        total = total + current
    return total
