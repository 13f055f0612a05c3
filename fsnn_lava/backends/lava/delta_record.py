"""Record messages, rates and sums of a layer with delta encoding, in shared memory that the parent process reads after a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.late_messages import LateMessages, late_messages
from fsnn_lava.backends.lava.shared_memory import shared_array


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaRecord:
    """The record of one layer, [B, n] in (H, W, C) order; steps are in the layer's own time."""

    counts: NDArray[np.int32]
    told: NDArray[np.int32]
    sums: NDArray[np.int32]
    clipped: NDArray[np.uint8]
    clip_count: NDArray[np.int64]  # [B]
    messages: NDArray[np.int32]  # [B, T]
    hashes: NDArray[np.uint64]  # [B, T], hashes of the rates after each step
    keys: NDArray[np.uint64]  # [n], factors of the rates in a hash
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
        self.hashes[:, tau - 1] = (self.told.astype(np.uint64) * self.keys).sum(axis=1, dtype=np.uint64)
        for part in self.late:
            if tau > steps - part.delay:
                part.counts[...] += sent
                part.traces[...] += changes


def delta_record(batch: int, *, steps: int, delays: Sequence[int], keys: NDArray[np.uint64]) -> DeltaRecord:
    """Return an empty record of a layer with delta encoding, in shared memory; `keys` has one entry per neuron."""
    shape = (batch, len(keys))
    return DeltaRecord(
        counts=shared_array(shape, np.int32),
        told=shared_array(shape, np.int32),
        sums=shared_array(shape, np.int32),
        clipped=shared_array(shape, np.uint8),
        clip_count=shared_array((batch,), np.int64),
        messages=shared_array((batch, steps), np.int32),
        hashes=shared_array((batch, steps), np.uint64),
        keys=keys,
        late=late_messages(shape, delays),
    )
