"""Build a Result from what the probes of a stock graph recorded, and check the charge of every neuron."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.channel_order import channels_first, channels_last
from fsnn_lava.backends.lava.operation_counts import count_operations, count_updates
from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, Layer
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import STATE_FRACTION_BITS

Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """The record of one sample, each layer in its own time."""

    spikes: Sequence[NDArray[np.uint8]]  # [T, *shape] per layer
    potentials: Sequence[NDArray[np.int32]]  # [*shape] per layer, units 2**-6
    readout: NDArray[np.int32]  # [classes], units 2**-6


def stock_result(chip: ChipNetwork, values: NDArray[np.uint8], recorded: Recorded, *, steps: int, spikes: bool, seconds: float) -> Result:
    """Return the Result of a sample. Stock processes do not report clipping, but missing charge reveals it if charge is conserved (E10)."""
    trains = [train[None] for train in recorded.spikes]
    counts = tuple(train.sum(axis=1).astype(np.int32) for train in trains)
    late = [trains[chip.index(s.source)][:, max(0, steps - chip.delay(s)) :] for s in chip.feedback]
    late_counts = tuple(train.sum(axis=1).astype(np.int32) for train in late)
    potentials = tuple(np.ascontiguousarray(u[None], dtype=np.int32) for u in recorded.potentials)
    clipped = _missing_charge(chip, values, counts, late_counts, potentials, steps)
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
        potentials=potentials,
        readout=recorded.readout[None].astype(np.int32),
        clipped=clipped,
        clip_count=np.array([[int(np.count_nonzero(flags)) for flags in clipped] + [0]], dtype=np.int64),
        operations=count_operations(chip, values, counts, late_counts, steps),
        updates=count_updates(chip, 1, steps),
        spikes=tuple(np.ascontiguousarray(train) for train in trains) if spikes else None,
        seconds=seconds,
    )


def _missing_charge(
    chip: ChipNetwork, values: NDArray[np.uint8], counts: Arrays, late: Arrays, potentials: Arrays, steps: int
) -> tuple[NDArray[np.uint8], ...]:
    """Return [1, *shape] per layer: CLIPPED_HIGH where charge is missing, CLIPPED_LOW where it is in excess (E10; subtracting IF only)."""
    flags = []
    for layer, count, potential in zip(chip.layers, counts, potentials, strict=True):
        if layer.decay or layer.reset != "subtract":
            flags.append(np.zeros((1, *layer.shape), dtype=np.uint8))
            continue
        arrived = _arrived_charge(chip, layer, values, counts, late, steps)
        kept = potential.astype(np.int64) + (layer.per_neuron(layer.threshold).astype(np.int64) << STATE_FRACTION_BITS) * count
        flags.append(((arrived > kept) * CLIPPED_HIGH + (arrived < kept) * CLIPPED_LOW).astype(np.uint8))
    return tuple(flags)


def _arrived_charge(
    chip: ChipNetwork, layer: Layer, values: NDArray[np.uint8], counts: Arrays, late: Arrays, steps: int
) -> NDArray[np.int64]:
    """Return the sum of all currents into the layer, [1, *shape], units 2**-6. No exponent is negative, so sums may be shifted last."""
    missed = dict(zip(map(id, chip.feedback), late, strict=True))
    if layer is chip.layers[0] and chip.input.kind == "current":
        total = input_current(chip, values).astype(np.int64) * steps
    else:
        total = (layer.bias.astype(np.int64) << STATE_FRACTION_BITS)[None] * steps
    for synapse in chip.into(layer):
        if synapse.source == INPUT:
            shape, sent = chip.input.shape, values.sum(axis=1, dtype=np.int64)
        else:
            shape = chip.layer(synapse.source).shape
            sent = counts[chip.index(synapse.source)].astype(np.int64) - missed.get(id(synapse), np.int32(0))
        scatter = Scatter(
            compiled_synapse(synapse, shape, layer.shape),
            exponent=synapse.exponent,
            sources=int(np.prod(shape)),
            targets=layer.size,
            graded=True,
            out=np.int64,
            wide=True,
        )
        made = np.zeros((1, layer.size), dtype=np.int64)
        scatter(np.ascontiguousarray(channels_last(sent, shape)), made)
        total = total + channels_first(made, layer.shape)
    return total


def _trace(train: NDArray[Any], leak: float) -> NDArray[np.float64]:
    trace = np.zeros((len(train), *train.shape[2:]))
    for tau in range(train.shape[1]):
        trace = trace * leak + train[:, tau]
    return trace
