"""A float network ready to be simulated: all constants of a run, computed for one batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from torch import Tensor

from fsnn_lava.nn.current import Current
from fsnn_lava.nn.drive import ConstantDrive, Drive
from fsnn_lava.nn.neurons import LIF
from fsnn_lava.nn.operators import Shape

Schedule = Literal["sequential", "pipelined"]  # when a layer sees the spikes of the one before it: in the same step, or one step later
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)


def own_delay(source: int, target: int, schedule: Schedule) -> int:
    """Steps that a wire of the dynamics between these positions takes in the layers' own time: 0 forward (E13)."""
    if source < target:
        return 0
    return 1 if schedule == "sequential" else source - target + 1


@dataclass(frozen=True)
class Wire:
    """A connection between two layers, given by position, of one run."""

    source: int
    target: int
    delay: int  # steps in the layers' own time
    current: Current  # the source's spikes -> current of the target

    def part(self, rows: slice) -> Wire:
        """The dynamics of some samples of the batch."""
        return replace(self, current=self.current.part(rows))


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """What every layer's current is, for one batch."""

    shapes: tuple[Shape, ...]  # of the layers
    drives: tuple[Drive | None, ...]  # from outside, by layer; at least one of them
    wires: tuple[Wire, ...]  # by target; forward ones first
    neuron: LIF
    vths: tuple[float, ...]  # by layer

    @cached_property
    def values(self) -> Tensor:
        """What a drive is computed from, [B, ...]."""
        return next(drive.values for drive in self.drives if drive is not None)

    @property
    def samples(self) -> int:
        """Number of samples in the batch."""
        return len(self.values)

    @property
    def sequence(self) -> bool:
        """Whether the input changes with the steps."""
        return not all(drive is None or isinstance(drive, ConstantDrive) for drive in self.drives)

    def into(self, layer: int) -> tuple[Wire, ...]:
        """The wires that end on a layer."""
        return tuple(wire for wire in self.wires if wire.target == layer)

    def part(self, rows: slice) -> Dynamics:
        """The dynamics of some samples of the batch."""
        drives = tuple(None if drive is None else drive.part(rows) for drive in self.drives)
        return replace(self, drives=drives, wires=tuple(wire.part(rows) for wire in self.wires))
