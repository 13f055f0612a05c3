"""Build a Result from what the probes of a stock graph with delta encoding recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.limit_cycle import hash_keys, limit_cycles
from fsnn_lava.backends.lava.operation_counts import count_operations, count_updates
from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import STATE_FRACTION_BITS, STATE_MAX


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedChanges:
    """The recorded changes of one sample, each layer in its own time; a layer is a pair of neurons, or one with the activation "relu"."""

    lower: Sequence[NDArray[Any]]  # [T, *shape] per layer: messages of ReLU(z), in units of 2**-q
    upper: Sequence[NDArray[Any]]  # the same for ReLU(z - 1), which are subtracted; 0 if there is no such neuron
    states: Sequence[NDArray[Any]]  # [*shape] per layer: S + D
    readout: NDArray[np.int32]  # [classes]


def stock_delta_result(
    chip: ChipNetwork, values: NDArray[np.uint8], recorded: RecordedChanges, *, steps: int, spikes: bool, seconds: float
) -> Result:
    """Return the Result of one sample. A pair of neurons counts as one neuron that sends the messages of both.

    Lava's neurons do not clip, but a sum or drive that exceeds the 24 bits of E15 at the end is still flagged.
    """
    trains = [(a.astype(np.int64) - b)[None] for a, b in zip(recorded.lower, recorded.upper, strict=True)]
    sent = [((a != 0).astype(np.int32) + (b != 0))[None] for a, b in zip(recorded.lower, recorded.upper, strict=True)]
    counts = tuple(number.sum(axis=1, dtype=np.int32) for number in sent)
    arrived_before = [max(0, steps - chip.delay(synapse)) for synapse in chip.feedback]
    sources = [chip.index(synapse.source) for synapse in chip.feedback]
    missed = tuple(sent[source][:, end:].sum(axis=1, dtype=np.int32) for source, end in zip(sources, arrived_before, strict=True))
    late = tuple(trains[source][:, end:].sum(axis=1).astype(np.int32) for source, end in zip(sources, arrived_before, strict=True))
    drives = [_drive(chip, position, values) for position in range(len(chip.layers))]
    sums = [state[None].astype(np.int64) - drive for state, drive in zip(recorded.states, drives, strict=True)]
    clipped = [_outside(total) | _outside(drive) for total, drive in zip(sums, drives, strict=True)]
    messages = sum(number.reshape(1, steps, -1).sum(axis=2, dtype=np.int32) for number in sent)
    return Result(
        backend="sim",
        graph="stock",
        steps=steps,
        digest=chip.digest(),
        weight_sum=chip.weight_sum(steps),
        readout_scale=chip.readout_scale,
        counts=counts,
        traces=tuple(train.sum(axis=1).astype(np.float64) for train in trains),
        late=late,
        late_traces=tuple(part.astype(np.float64) for part in late),
        potentials=tuple(total.astype(np.int32) for total in sums),
        readout=recorded.readout[None].astype(np.int32),
        clipped=tuple(clipped),
        clip_count=np.array(
            [[*(int(np.count_nonzero(flags)) for flags in clipped), int(np.count_nonzero(_outside(recorded.readout)))]], dtype=np.int64
        ),
        operations=count_operations(chip, values, counts, missed, 1),
        updates=count_updates(chip, 1, steps),
        spikes=tuple(train.astype(np.int16) for train in trains) if spikes else None,
        messages=np.asarray(messages, dtype=np.int32),
        cycles=limit_cycles(_hashes(trains), np.asarray(messages), longest_delay=max(map(chip.delay, chip.feedback), default=0)),
        seconds=seconds,
    )


def _drive(chip: ChipNetwork, position: int, values: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return D of E15, [1, *shape], not clipped."""
    bits = chip.delta.rate_bits if chip.delta is not None else 0
    return input_current(chip, values, position=position).astype(np.int64) << (bits - STATE_FRACTION_BITS)


def _outside(values: NDArray[Any]) -> NDArray[np.uint8]:
    return ((values > STATE_MAX) * CLIPPED_HIGH + (values < -STATE_MAX) * CLIPPED_LOW).astype(np.uint8)


def _hashes(trains: Sequence[NDArray[np.int64]]) -> NDArray[np.uint64]:
    """Return hashes of the rates after each step, [1, T]."""
    told = np.concatenate([np.cumsum(train.reshape(1, train.shape[1], -1), axis=1) for train in trains], axis=2)
    return (told.astype(np.uint64) * hash_keys(told.shape[2])).sum(axis=2, dtype=np.uint64)
