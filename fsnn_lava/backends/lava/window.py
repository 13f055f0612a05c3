"""When a process is active. One batch is a *period* of N + T Lava steps; the source sends from step 1, layer l receives from step l + 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Window:
    """The T steps of a period in which a layer is active."""

    opens: int  # Lava step of the period, counted from 1
    steps: int  # T
    period: int

    def own_time(self, time_step: int) -> int:
        """Return a layer's own time tau in its window at a Lava step of the run: 1 … T while it is active, smaller before, larger after."""
        return (time_step - 1) % self.period + 2 - self.opens

    def is_new(self, time_step: int) -> bool:
        """Return whether a new batch begins at this Lava step."""
        return (time_step - 1) % self.period == 0


def layer_window(position: int, *, layers: int, steps: int) -> Window:
    """Return the window of layer `position` = 1 … N; the source is layer 0, and the readout shares the window of the last layer."""
    return Window(opens=position + 1, steps=steps, period=layers + steps)
