"""The float simulation (E1, E2), spike by spike: every spike adds its weights to the currents of its targets.

A sample's potentials stay in the processor's cache, since no step writes memory that samples share. If there are many weights, several
samples are stepped together, so that each part of the weights is read once for all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.row_sums import BLOCK, add_row_sums_by_block
from fsnn_lava.compiled.scatter import BUSY, GROUPS, scatter, scatter_by_taps
from fsnn_lava.compiled.spike_list import NO, list_spikes
from fsnn_lava.compiled.vectors import Floats, Number

# Columns of the table of layers: the layer's neurons, its wires, and where its drive from outside is, or NO_DRIVE.
OFFSET, SIZE, FIRST_WIRE, END_WIRE, DRIVE = range(5)
LAYER_COLUMNS, NO_DRIVE = 5, -1
# Columns of the table of wires, the connections between layers. The rest of a row, from FORM_START, is the form of that connection as
# `scatter` takes it. MASK is where its dropout mask is among the masks of a sample.
SOURCE, DELAY, MASK, WEIGHT, WEIGHT_END, ROWS, ROWS_END, COLUMNS, COLUMNS_END, FORM_START = range(10)

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Indices = NDArray[np.int32]


@compiled
def _step(u: Floats, constant: Floats, current: Floats, leak: Number, vth: Number, spikes: Bytes, sums: Floats) -> None:
    """Integrate (u <- leak u + constant + current), compare, reset by subtraction, and add spikes to `sums`; zero `current`."""
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
    """Do the same step with dropout on the current."""
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
    """Add to current[b] the weights of sample b's spikes, through the wire that `row` describes.

    The spikes are lists[b, begin : begin + lengths[b]]. `lists` is passed whole, since a slice has other strides and would need another
    compilation.
    """
    own = weight[row[WEIGHT] : row[WEIGHT_END]]
    if in_blocks:
        add_row_sums_by_block(current, own, lists, begin, lengths, row[FORM_START])
        return
    rows, columns = tables[row[ROWS] : row[ROWS_END]], tables[row[COLUMNS] : row[COLUMNS_END]]
    places = len(rows) * len(columns)
    busy = BUSY * places if places > 1 and row[FORM_START + GROUPS] == 1 else lists.shape[1]
    for b in range(len(current)):
        if lengths[b] <= busy:
            scatter(current[b], own, lists[b, begin : begin + lengths[b]], fired[:0], row[FORM_START:], rows, columns)
    scatter_by_taps(current, own, lists, begin, lengths, busy, row[FORM_START:], rows, columns, starts)


@compiled
def _add_masked(total: Floats, current: Floats, mask: Floats) -> None:
    """Add mask current to `total`, and reset `current` to zero."""
    for i in range(len(total)):
        total[i] += mask[i] * current[i]
        current[i] = 0


@compiled
def _run_together(first: int, end: int, in_blocks: bool, layers: Integers, wires: Integers, tables: Indices, weight: Floats,
                 constant: Floats, drive: Floats, mask: Floats, steps: int, delay: int, leak: Number, vths: Floats, sums: Floats,
                 counts: Floats, u: Floats, returned: Floats, spikes_of: Integers) -> None:  # fmt: skip
    """Run samples first … end - 1 for `steps` steps; the outputs are sums, counts (no columns without a leak), u and spikes_of [B, layers].

    `constant` [1 or B, neurons] is what enters layers without a drive at every step. Masks are [B, targets of all wires], or have no
    columns. `delay` is the longest of any wire.
    If `returned` has columns, it becomes W times the rates of a single layer, by conservation of charge (E10): the charge in u and in the
    spikes, minus what the drive contributed, is W times the sums of the previous step.
    """
    samples, total, largest, slots = end - first, u.shape[1], layers[:, SIZE].max(), delay + 1
    width = (largest + BLOCK - 1) // BLOCK * BLOCK
    current = np.zeros((samples, width), u.dtype)
    masked = mask.shape[1] > 0
    joint = np.zeros((samples, width if masked else 0), u.dtype)  # masked currents of layers with several wires
    starts = np.empty((samples, largest + 1), np.int32)
    fired = np.zeros((largest + 7) // 8 * 8, np.uint8)
    words = fired.view(np.uint64)
    lists = np.empty((slots, samples, total), np.int32)
    lengths = np.zeros((slots, len(layers), samples), np.int64)
    u[first:end], sums[first:end], counts[first:end], spikes_of[first:end] = 0, 0, 0, 0
    for t in range(steps):
        now = t % slots
        for layer in range(len(layers)):
            offset, size, begin, outside = layers[layer, OFFSET], layers[layer, SIZE], layers[layer, FIRST_WIRE], layers[layer, DRIVE]
            stop, vth = offset + size, vths[layer]
            alone = layers[layer, END_WIRE] == begin + 1
            for wire in range(begin, layers[layer, END_WIRE]):
                row = wires[wire]
                if t >= row[DELAY]:
                    slot, start = (t - row[DELAY]) % slots, layers[row[SOURCE], OFFSET]
                    _receive(current, in_blocks, row, tables, weight, lists[slot], start, lengths[slot, row[SOURCE]], starts, fired)
                    if masked and not alone:
                        for b in range(samples):
                            _add_masked(joint[b, :size], current[b, :size], mask[first + b, row[MASK] : row[MASK] + size])
            for b in range(samples):
                at = first + b
                if outside == NO_DRIVE:
                    steady = constant[at if len(constant) > 1 else 0, offset:stop]
                else:
                    steady = drive[at, min(t, drive.shape[1] - 1), outside : outside + size]
                state, spikes, here = u[at, offset:stop], fired[:size], sums[at, offset:stop]
                if masked and alone:
                    own = mask[at, wires[begin, MASK] : wires[begin, MASK] + size]
                    _step_masked(state, steady, current[b, :size], own, leak, vth, spikes, here)
                else:
                    _step(state, steady, joint[b, :size] if masked else current[b, :size], leak, vth, spikes, here)
                found = lists[now, b, offset:stop]
                number = list_spikes(spikes, words[: (size + 7) // 8], found, NO)
                lengths[now, layer, b] = number
                spikes_of[at, layer] += number
                if counts.shape[1] > 0:
                    for i in range(number):
                        counts[at, offset + found[i]] += 1
    if returned.shape[1] > 0:
        last, vth = (steps - 1) % slots, vths[0]
        _receive(current, in_blocks, wires[0], tables, weight, lists[last], layers[0, OFFSET], lengths[last, 0], starts, fired)
        total_weight: Number = 0.0  # the sum of the steps' weights in the sums (E3)
        for _ in range(steps):
            total_weight = float(leak * total_weight + 1)
        for b in range(samples):
            at = first + b
            for i in range(returned.shape[1]):
                newest = mask[at, i] * current[b, i] if masked else current[b, i]
                returned[at, i] = (leak * (u[at, i] + vth * sums[at, i] - total_weight * drive[at, 0, i]) + newest) / total_weight


@compiled
def run_samples(first: int, end: int, in_blocks: bool, layers: Integers, wires: Integers, tables: Indices, weight: Floats,
                constant: Floats, drive: Floats, mask: Floats, steps: int, delay: int, together: int, leak: Number, vths: Floats,
                sums: Floats, counts: Floats, u: Floats, returned: Floats, spikes_of: Integers) -> None:  # fmt: skip
    """Run samples first … end - 1 in float, `together` at a time. Each result is independent of the other samples and of the threads."""
    for b in range(first, end, together):
        _run_together(
            b, min(b + together, end), in_blocks, layers, wires, tables, weight, constant, drive, mask, steps, delay, leak, vths, sums,
            counts, u, returned, spikes_of,
        )  # fmt: skip
