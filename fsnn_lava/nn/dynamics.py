"""A float network ready to be simulated: all constants of a run, worked out for one batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from fsnn_lava.nn.current import Current
from fsnn_lava.nn.drive import Drive
from fsnn_lava.nn.neurons import LIF

Schedule = Literal["sequential", "pipelined"]  # when a layer sees the spikes of the one before it: in the same step, or one step later
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)


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
