"""A Result from what the probes of a stock graph saw, with each neuron's charge checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.chip.network import ChipNetwork
from fsnn_lava.lava.outcome import operations, updates
from fsnn_lava.result import Result


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """One sample, each layer in its own time."""

    spikes: Sequence[NDArray[np.uint8]]  # [T, *shape] per layer
    potentials: Sequence[NDArray[np.int32]]  # [*shape] per layer, units 2**-6
    readout: NDArray[np.int32]  # [classes], units 2**-6


def stock_result(chip: ChipNetwork, values: NDArray[np.uint8], recorded: Recorded, *, steps: int, spikes: bool, seconds: float) -> Result:
    """B = 1. Stock processes do not tell when they clip: their flags stay zero, and E10 shows what was lost."""
    trains = [train[None] for train in recorded.spikes]
    counts = tuple(train.sum(axis=1).astype(np.int32) for train in trains)
    late = [trains[chip.index(s.source)][:, max(0, steps - chip.delay(s)) :] for s in chip.feedback]
    late_counts = tuple(train.sum(axis=1).astype(np.int32) for train in late)
    return Result(
        backend="sim",
        graph="stock",
        steps=steps,
        digest=chip.digest(),
        weight_sum=chip.weight_sum(steps),
        readout_scale=float(chip.readout.scale),
        counts=counts,
        traces=tuple(_trace(train, chip.leak) for train in trains),
        late=late_counts,
        late_traces=tuple(_trace(train, chip.leak) for train in late),
        potentials=tuple(np.ascontiguousarray(u[None], dtype=np.int32) for u in recorded.potentials),
        readout=recorded.readout[None].astype(np.int32),
        clipped=tuple(np.zeros((1, *layer.shape), dtype=np.uint8) for layer in chip.layers),
        clip_count=np.zeros((1, len(chip.layers) + 1), dtype=np.int64),
        operations=operations(chip, values, counts, late_counts, steps),
        updates=updates(chip, 1, steps),
        spikes=tuple(np.ascontiguousarray(train) for train in trains) if spikes else None,
        seconds=seconds,
    )


def _trace(train: NDArray[Any], leak: float) -> NDArray[np.float64]:
    trace = np.zeros((len(train), *train.shape[2:]))
    for tau in range(train.shape[1]):
        trace = trace * leak + train[:, tau]
    return trace
