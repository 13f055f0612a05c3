"""Count synaptic operations and neuron updates of a run, on the host, from the number of messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.network import INPUT, ChipNetwork, DenseSynapse, Synapse

Shape = tuple[int, ...]


def count_operations(
    chip: ChipNetwork, values: NDArray[np.uint8], counts: Sequence[NDArray[np.int32]], late: Sequence[NDArray[np.int32]], steps: int
) -> NDArray[np.int64]:
    """Count operations, [B]: every message that arrived, and every non-zero input value, times the fan-out of its sender.

    `late` counts the messages that did not arrive. A static input is sent in each of `steps` steps.
    """
    total = counts[-1].reshape(len(values), -1).sum(axis=1, dtype=np.int64) * chip.readout.classes
    missed = dict(zip(map(id, chip.feedback), late, strict=True))
    for synapse in chip.synapses:
        if synapse.source == INPUT:
            nonzero = values != 0
            sent = nonzero.sum(axis=1) if chip.input.kind == "events" else nonzero * steps
            shape = chip.input.shape
        else:
            shape = chip.layer(synapse.source).shape
            sent = counts[chip.index(synapse.source)] - missed.get(id(synapse), np.int32(0))
        total += (
            (sent.astype(np.int64) * operations_per_message(synapse, shape, chip.layer(synapse.target).shape))
            .reshape(len(values), -1)
            .sum(axis=1)
        )
    return total


def operations_per_message(synapse: Synapse, source: Shape, target: Shape) -> NDArray[np.int64]:
    """Return the operations per message: how many weights one message of each source neuron touches, broadcast to [*source]."""
    if isinstance(synapse, DenseSynapse):
        return np.array(synapse.weight.shape[0], dtype=np.int64)
    return compiled_synapse(synapse, source, target).fan_out[None]


def count_updates(chip: ChipNetwork, samples: int, steps: int) -> NDArray[np.int64]:
    """Count the neuron updates of a run on Lava, [B], in addition to its operations; includes the readout's integrators."""
    return np.full(samples, steps * (sum(layer.size for layer in chip.layers) + chip.readout.classes), dtype=np.int64)
