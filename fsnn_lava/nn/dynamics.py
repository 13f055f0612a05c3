"""A float network ready to be simulated: all constants of a run, computed for one batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
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
    """Return how many steps a wire between these positions takes in the layers' own time: 0 for a forward one (E13)."""
    if source < target:
        return 0
    return 1 if schedule == "sequential" else source - target + 1


@dataclass(frozen=True)
class Wire:
    """A connection of one run between two layers, which are given by position."""

    source: int
    target: int
    delay: int  # steps in the layers' own time
    current: Current  # the source's spikes -> current of the target

    def part(self, rows: slice) -> Wire:
        """Return the wire for some samples of the batch."""
        return replace(self, current=self.current.part(rows))


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """The dynamics of one batch: everything that determines the current of every layer."""

    shapes: tuple[Shape, ...]  # of the layers
    drives: tuple[Drive | None, ...]  # from outside, by layer; at least one is not None
    wires: tuple[Wire, ...]  # by target; forward ones first
    neuron: LIF
    vths: tuple[float, ...]  # by layer

    @cached_property
    def values(self) -> Tensor:
        """The values that a drive is computed from, [B, ...]."""
        return next(drive.values for drive in self.drives if drive is not None)

    @property
    def samples(self) -> int:
        """Number of samples in the batch."""
        return len(self.values)

    @property
    def sequence(self) -> bool:
        """Whether the input changes from step to step."""
        return not all(drive is None or isinstance(drive, ConstantDrive) for drive in self.drives)

    @property
    def memories(self) -> list[int]:
        """For how many steps the output of each layer must be remembered, this step included."""
        needed = [0] * len(self.shapes)
        for wire in self.wires:
            needed[wire.source] = max(needed[wire.source], wire.delay + (wire.source < wire.target))
        return needed

    def into(self, layer: int) -> tuple[Wire, ...]:
        """Return the wires that end on a layer."""
        return tuple(wire for wire in self.wires if wire.target == layer)

    def arriving_currents(self, layer: int, step: int, past: list[deque[Tensor]]) -> Iterator[Tensor]:
        """Yield the currents into a layer in one step: from outside, then wire by wire. `past` holds what every layer sent, newest last."""
        drive = self.drives[layer]
        if drive is not None:
            yield drive.at(step)
        for wire in self.into(layer):
            if step >= wire.delay:
                # an earlier layer has already fired in this step, the others have not
                yield wire.current(past[wire.source][-1 - wire.delay + (wire.source >= layer)])

    def part(self, rows: slice) -> Dynamics:
        """Return the dynamics of some samples of the batch."""
        drives = tuple(None if drive is None else drive.part(rows) for drive in self.drives)
        return replace(self, drives=drives, wires=tuple(wire.part(rows) for wire in self.wires))
