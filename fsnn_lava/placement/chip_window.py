"""How many chip steps a sample takes: the chip resets neurons every 2**k steps, so the network is silenced for the rest of a window."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChipWindow:
    """The steps of one sample on the chip. Steps count from 1, layers from 1 to N, and the readout is layer N + 1."""

    steps: int  # T
    layers: int  # N
    first: int = 1  # step at which layer 1 opens: 1, or later if events have to reach it first
    latency: int = 0  # steps that a spike takes from the chip to the host's record
    longest: int = 1  # steps that a spike takes on the longest connection (`ChipNetwork.chip_delay`)

    @property
    def used(self) -> int:
        """The last step of the chip's window in which anything is counted."""
        return self.closes(self.layers + 1) + self.latency

    @property
    def length(self) -> int:
        """The smallest power of two that leaves enough steps to silence the network: as many as its longest connection takes."""
        return 1 << (self.used + self.longest - 1).bit_length()

    def opens(self, layer: int) -> int:
        """Return the first step of a layer's window."""
        return self.first + layer - 1

    def closes(self, layer: int) -> int:
        """Return the last step of a layer's window."""
        return self.opens(layer) + self.steps - 1

    def __str__(self) -> str:
        return (
            f"a run of T = {self.steps} steps takes a window of {self.length} chip steps, since the chip's reset needs a power of two; "
            f"steps after a layer's T are not counted"
        )


@dataclass(frozen=True, kw_only=True)
class DeltaWindow(ChipWindow):
    """The steps of one sample with delta encoding. The host resets these neurons, so no power of two is needed."""

    @property
    def length(self) -> int:
        """The steps that are used, plus those in which messages still in flight arrive at silenced neurons."""
        return self.used + self.latency + self.longest

    def __str__(self) -> str:
        return f"a run of T = {self.steps} steps takes {self.length} chip steps; steps after a layer's T are not counted"
