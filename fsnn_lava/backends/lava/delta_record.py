"""Messages, rates and sums of a layer with delta encoding, in shared memory that the parent process reads after a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.neuron_record import LateMessages, late_messages
from fsnn_lava.backends.lava.shared_memory import shared_array

_ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads the indices of neurons over 64 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaRecord:
    """One layer, [B, n] in (H, W, C) order; steps are the layer's own."""

    counts: NDArray[np.int32]
    told: NDArray[np.int32]
    sums: NDArray[np.int32]
    clipped: NDArray[np.uint8]
    clip_count: NDArray[np.int64]  # [B]
    messages: NDArray[np.int32]  # [B, T]
    hashes: NDArray[np.uint64]  # [B, T] of the rates after each step
    late: tuple[LateMessages, ...]

    def clear(self) -> None:
        """Set the record of every neuron to zero before a new batch."""
        states: list[NDArray[Any]] = [self.counts, self.told, self.sums, self.clipped, self.clip_count, self.messages, self.hashes]
        for array in states + [array for part in self.late for array in (part.counts, part.traces)]:
            array[...] = 0

    def add(self, changes: NDArray[np.int32], *, tau: int, steps: int) -> None:
        """Add the messages of step `tau` to the record."""
        sent = changes != 0
        self.counts[...] += sent
        self.messages[:, tau - 1] = sent.sum(axis=1)
        own = (2 * np.arange(changes.shape[1], dtype=np.uint64) + np.uint64(1)) * _ODD
        self.hashes[:, tau - 1] = (self.told.astype(np.uint64) * own).sum(axis=1, dtype=np.uint64)
        for part in self.late:
            if tau > steps - part.delay:
                part.counts[...] += sent
                part.traces[...] += changes


def delta_record(batch: int, size: int, *, steps: int, delays: Sequence[int]) -> DeltaRecord:
    """An empty record of a layer with delta encoding, in shared memory."""
    shape = (batch, size)
    return DeltaRecord(
        counts=shared_array(shape, np.int32),
        told=shared_array(shape, np.int32),
        sums=shared_array(shape, np.int32),
        clipped=shared_array(shape, np.uint8),
        clip_count=shared_array((batch,), np.int64),
        messages=shared_array((batch, steps), np.int32),
        hashes=shared_array((batch, steps), np.uint64),
        late=late_messages(shape, delays),
    )
