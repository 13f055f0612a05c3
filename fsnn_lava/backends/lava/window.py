"""When a process works. One batch is a *period* of N + T Lava steps; the source speaks at step 1, layer l first hears it at step l + 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Window:
    """The T steps of a period in which a layer is awake."""

    opens: int  # Lava step of the period, from 1
    steps: int  # T
    period: int

    def own_time(self, time_step: int) -> int:
        """tau of the layer at a Lava step of the whole run: 1 … T while it is awake, less before, more after."""
        return (time_step - 1) % self.period + 2 - self.opens

    def is_new(self, time_step: int) -> bool:
        """Does a new batch begin at this Lava step?"""
        return (time_step - 1) % self.period == 0


def layer_window(position: int, *, layers: int, steps: int) -> Window:
    """Of layer `position` = 1 … N; the source is layer 0, and the readout works with the last layer."""
    return Window(opens=position + 1, steps=steps, period=layers + steps)
