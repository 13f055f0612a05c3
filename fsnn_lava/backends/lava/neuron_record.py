"""Record spike counts, traces and potentials of a layer, in shared memory that the parent process reads after a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fsnn_lava.backends.lava.late_messages import LateMessages, late_messages
from fsnn_lava.backends.lava.shared_memory import shared_array


@dataclass(frozen=True, kw_only=True, eq=False)
class NeuronRecord:
    """The record of one layer, [B, n] in (H, W, C) order. The traces of IF neurons equal their counts, so they are not kept."""

    counts: NDArray[np.int32]
    traces: NDArray[np.float64] | None
    potentials: NDArray[Any]
    clipped: NDArray[np.uint8]
    clip_count: NDArray[np.int64]  # [B]
    late: tuple[LateMessages, ...]

    def clear(self) -> None:
        """Set the record of every neuron to zero before a new batch."""
        arrays = [self.counts, self.clipped, self.clip_count, *(a for part in self.late for a in (part.counts, part.traces))]
        for array in arrays if self.traces is None else [*arrays, self.traces]:
            array[...] = 0

    def add(self, spikes: NDArray[Any], *, tau: int, steps: int, leak: float) -> None:
        """Add the spikes of step `tau` to the record (E3)."""
        _count(self.counts, spikes)
        if self.traces is not None:
            _advance(self.traces, spikes, leak)
        for part in self.late:
            if tau > steps - part.delay:
                _count(part.counts, spikes)
                _advance(part.traces, spikes, leak)


def neuron_record(batch: int, size: int, *, leaky: bool, delays: Sequence[int], potential: DTypeLike = np.int32) -> NeuronRecord:
    """Return an empty record of a layer's neurons, in shared memory."""
    shape = (batch, size)
    return NeuronRecord(
        counts=shared_array(shape, np.int32),
        traces=shared_array(shape, np.float64) if leaky else None,
        potentials=shared_array(shape, potential),
        clipped=shared_array(shape, np.uint8),
        clip_count=shared_array((batch,), np.int64),
        late=late_messages(shape, delays),
    )


def _count(counts: NDArray[np.int32], spikes: NDArray[Any]) -> None:
    np.add(counts, spikes, out=counts, casting="unsafe")  # spikes are 0 or 1, of any type


def _advance(trace: NDArray[np.float64], spikes: NDArray[Any], leak: float) -> None:
    trace *= leak
    trace += spikes
