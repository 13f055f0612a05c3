"""An integer network in the form that the emulator's kernels read: all layers in one array, so that one function runs any network."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Sums = NDArray[np.signedinteger[Any]]  # 32 bits, or 64 where a sum could exceed them

# columns of Program.layers
OFFSET, SIZE, STRICT, SUBTRACT, FIRST_SYNAPSE, END_SYNAPSE, ATRLIF = range(7)
LAYER_COLUMNS = 7

# columns of Program.synapses, followed by scatter.FORM
(
    SOURCE,  # index of a layer, or FROM_INPUT
    DELAY,  # steps, or STATIC
    SHIFT,
    WEIGHT,  # where its weights begin …
    WEIGHT_END,
    ROW_SPANS,
    ROW_SPANS_END,
    COLUMN_SPANS,
    COLUMN_SPANS_END,
    TARGET,  # where its target's neurons begin among all neurons
    TARGET_SIZE,
    FULL_CURRENT,  # where its part of Program.full_current begins
    FULL_OPERATIONS,  # operations of a step in which all sources fire
    FORM_START,
) = range(14)
FROM_INPUT = -1
STATIC = -1  # the delay of a static input: its current is computed once per sample and added at every step

# columns of Program.late
LATE_SOURCE, LATE_DELAY, LATE_OFFSET = range(3)


class Program(NamedTuple):
    """An integer network for the kernels. Its S synapses are sorted by target; M is the number of neurons in all layers."""

    layers: NDArray[np.int64]  # [layers, 7]
    synapses: NDArray[np.int64]  # [S, FORM_START + len(FORM)]
    weight: NDArray[np.int8]  # of all synapses: Patches.blocks
    full_current: Sums  # of all synapses: what each target receives if all sources fire
    spans: NDArray[np.int32]  # [., 3] row and column spans of all synapses
    threshold: NDArray[np.int32]  # [M] units 2**-6
    bias: NDArray[np.int32]  # [M] units 2**-6
    atrlif_offset: NDArray[np.int32]  # [M or 0] units 2**-6; empty if no layer is computed as ATRLIF
    order: NDArray[np.int32]  # [M] index of each neuron within its layer in the network's own order
    late: NDArray[np.int64]  # [feedback synapses, 3]: source, delay, offset among the late counts
    readout_weight: NDArray[np.int8]  # [size of the last layer, classes padded to whole vectors] flattened, channels last
    readout_full_current: Sums  # the sum of its rows
    readout_bias: NDArray[np.int32]  # [classes] units 2**-6
    readout_shift: int
    keep: int  # 4096 - decay
    slots: int  # steps of spikes to remember: the longest delay + 1
    largest_layer: int  # neurons
