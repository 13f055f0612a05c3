"""The float simulation (E1, E2), spike by spike: every spike adds its weights to the currents of its targets.

A sample's potentials stay in the processor's cache, since no step writes memory that samples share. If all connections are dense,
there are few potentials and many weights; several samples are then stepped together, so that the weights stay in the cache instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.integer_run import NO, list_spikes
from fsnn_lava.compiled.row_sums import BLOCK, add_blocks
from fsnn_lava.compiled.scatter import BUSY, scatter, scatter_by_taps
from fsnn_lava.compiled.vectors import Floats, Number

# Columns of the table of layers: the layer's neurons, and the one connection into them from the layer before (or around the loop).
# The rest of a row, from FORM_START, is the form of that connection as `scatter` reads it.
OFFSET, SIZE, SOURCE, DELAY, WEIGHT, WEIGHT_END, ROWS, ROWS_END, COLUMNS, COLUMNS_END, FORM_START = range(11)
NO_SOURCE = -1

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Indices = NDArray[np.int32]


@compiled
def _step(u: Floats, constant: Floats, current: Floats, leak: Number, vth: Number, spikes: Bytes, sums: Floats) -> None:
    """u <- leak u + constant + current; compare, reset by subtraction, add to the weighted sums. `current` is zero afterwards."""
    zero = vth - vth
    for i in range(len(u)):
        charged = leak * u[i] + constant[i] + current[i]
        current[i] = zero
        spike = charged >= vth
        spikes[i] = spike
        u[i] = charged - (vth if spike else zero)
        sums[i] = leak * sums[i] + spike


@compiled
def _step_masked(u: Floats, constant: Floats, current: Floats, mask: Floats, leak: Number, vth: Number, spikes: Bytes,
                sums: Floats) -> None:  # fmt: skip
    """The same with dropout on the current."""
    zero = vth - vth
    for i in range(len(u)):
        charged = leak * u[i] + constant[i] + mask[i] * current[i]
        current[i] = zero
        spike = charged >= vth
        spikes[i] = spike
        u[i] = charged - (vth if spike else zero)
        sums[i] = leak * sums[i] + spike


@compiled
def _receive(current: Floats, in_blocks: bool, row: Integers, tables: Indices, weight: Floats, lists: Indices, begin: int,
            lengths: Integers, starts: Indices, fired: Bytes) -> None:  # fmt: skip
    """current[b] <- current[b] + the weights from the spikes of sample b to the layer of `row`.

    They are lists[b, begin : begin + lengths[b]]. `lists` is passed as a whole: a slice has other strides and would be compiled again.
    """
    own = weight[row[WEIGHT] : row[WEIGHT_END]]
    if in_blocks:
        add_blocks(current, own, lists, begin, lengths, row[FORM_START])
        return
    rows, columns = tables[row[ROWS] : row[ROWS_END]], tables[row[COLUMNS] : row[COLUMNS_END]]
    places = len(rows) * len(columns)
    for b in range(len(current)):
        indices = lists[b, begin : begin + lengths[b]]
        if len(indices) > BUSY * places and places > 1:
            scatter_by_taps(current[b], own, indices, row[FORM_START:], rows, columns, starts[: places + 1])
        else:
            scatter(current[b], own, indices, fired[:0], row[FORM_START:], rows, columns)


@compiled
def _run_together(first: int, end: int, in_blocks: bool, layers: Integers, tables: Indices, weight: Floats, bias: Floats, drive: Floats,
                 mask: Floats, steps: int, delay: int, leak: Number, vth: Number, sums: Floats, counts: Floats, u: Floats,
                 returned: Floats, spikes_of: Integers) -> None:  # fmt: skip
    """Samples first … end - 1 over `steps`; sums, counts (no columns without a leak), u and spikes_of [B, layers] are the outputs.

    `returned`, unless it has no columns, becomes W times the rates of a single layer, by conservation of charge (E10): the charge in u
    and in the spikes beyond what the drive brought is W times the sums of the step before.
    """
    samples, total, largest, slots = end - first, u.shape[1], layers[:, SIZE].max(), delay + 1
    current = np.zeros((samples, (largest + BLOCK - 1) // BLOCK * BLOCK), u.dtype)
    starts = np.empty(largest + 1, np.int32)
    fired = np.zeros((largest + 7) // 8 * 8, np.uint8)
    words = fired.view(np.uint64)
    lists = np.empty((slots, samples, total), np.int32)
    lengths = np.zeros((slots, len(layers), samples), np.int64)
    masked = mask.shape[1] > 0
    constant = mask[first:end] * bias if masked else bias.reshape(1, -1)
    u[first:end], sums[first:end], counts[first:end], spikes_of[first:end] = 0, 0, 0, 0
    for t in range(steps):
        now = t % slots
        for layer in range(len(layers)):
            row = layers[layer]
            offset, size, source = row[OFFSET], row[SIZE], row[SOURCE]
            stop = offset + size
            if source >= 0 and t >= row[DELAY]:
                slot, start = (t - row[DELAY]) % slots, layers[source, OFFSET]
                _receive(current, in_blocks, row, tables, weight, lists[slot], start, lengths[slot, source], starts, fired)
            for b in range(samples):
                at = first + b
                steady = drive[at, min(t, drive.shape[1] - 1)] if layer == 0 else constant[b if masked else 0, offset:stop]
                state, spikes, here = u[at, offset:stop], fired[:size], sums[at, offset:stop]
                if masked:
                    _step_masked(state, steady, current[b, :size], mask[at, offset:stop], leak, vth, spikes, here)
                else:
                    _step(state, steady, current[b, :size], leak, vth, spikes, here)
                found = lists[now, b, offset:stop]
                number = list_spikes(spikes, words[: (size + 7) // 8], found, NO)
                lengths[now, layer, b] = number
                spikes_of[at, layer] += number
                if counts.shape[1] > 0:
                    for i in range(number):
                        counts[at, offset + found[i]] += 1
    if returned.shape[1] > 0:
        last = (steps - 1) % slots
        _receive(current, in_blocks, layers[0], tables, weight, lists[last], layers[0, OFFSET], lengths[last, 0], starts, fired)
        total_weight: Number = 0.0  # the sum of the steps' weights in the sums (E3)
        for _ in range(steps):
            total_weight = float(leak * total_weight + 1)
        for b in range(samples):
            at = first + b
            for i in range(returned.shape[1]):
                newest = mask[at, i] * current[b, i] if masked else current[b, i]
                returned[at, i] = (leak * (u[at, i] + vth * sums[at, i] - total_weight * drive[at, 0, i]) + newest) / total_weight


@compiled
def run_samples(first: int, end: int, layers: Integers, tables: Indices, weight: Floats, bias: Floats, drive: Floats, mask: Floats,
                steps: int, delay: int, together: int, leak: Number, vth: Number, sums: Floats, counts: Floats, u: Floats,
                returned: Floats, spikes_of: Integers) -> None:  # fmt: skip
    """Run samples first … end - 1 in float, `together` at a time. Each result is independent of the other samples and of the threads."""
    for b in range(first, end, together):
        _run_together(
            b, min(b + together, end), together > 1, layers, tables, weight, bias, drive, mask, steps, delay, leak, vth, sums, counts, u,
            returned, spikes_of,
        )  # fmt: skip
