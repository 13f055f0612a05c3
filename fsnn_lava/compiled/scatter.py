"""Scatter messages through a synapse's patches. Any number type: int8 weights onto int32 potentials, or float32 onto float32.

`form` describes the synapse's Patches in integers, in the order of FORM.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.patches import WIDEST, Patches
from fsnn_lava.compiled.row_sums import add_64, add_rows, add_rows_graded

FORM = ("source channels", "source width", "row taps", "column taps", "target width", "target channels", "groups", "fused")
BUSY = 4  # spikes per place from which walking tap by tap pays for float32, measured for 64 channels and 5 x 5 taps


def form_of(patches: Patches) -> NDArray[np.int64]:
    """[8] integers, see FORM."""
    row_taps, column_taps, channels, _ = patches.weight.shape
    numbers = (channels, len(patches.columns), row_taps, column_taps, patches.width, patches.channels, patches.groups, patches.fused)
    return np.array(numbers, dtype=np.int64)


@compiled
def scatter(target: Any, weight: Any, indices: Any, amounts: Any, form: Any, rows: Any, columns: Any) -> int:
    """Add the patch of every source neuron in `indices` (rising) to target [H * W * C]; the number of weights touched.

    Messages are spikes if `amounts` is empty, else amounts[index]. weight is Patches.blocks. The messages of one place (and group)
    share their targets, so they are added together.
    """
    channels, width, groups, taps = form[0], form[1], form[6], form[3]
    together, depth = channels // groups, form[5] // groups
    touched, first, number = 0, np.int64(0), len(indices)
    while first < number:
        run = indices[first] // together
        end = first + 1
        while end < number and indices[end] < (run + 1) * together:
            end += 1
        place, group = run // groups, run % groups
        y, x = place // width, place % width
        into = np.int64((rows[y, 0] * form[4] + columns[x, 0]) * form[5] + group * depth)
        if form[7]:
            start = np.int64((rows[y, 1] - place) * channels * taps + columns[x, 1]) * depth  # the indices hold place * channels already
            for i in range(rows[y, 2]):
                here, there = into + i * form[4] * form[5], start + i * channels * taps * depth
                _add(target, here, weight, there, indices, amounts, first, end, taps * depth, columns[x, 2] * depth)
        else:
            tap = np.int64(rows[y, 1] * taps + columns[x, 1] - place) * channels
            for k in range(0, depth, WIDEST):
                block = min(WIDEST, depth - k)
                start = k * form[2] * taps * channels + tap * block
                for i in range(rows[y, 2]):
                    here, there = into + i * form[4] * form[5] + k, start + i * taps * channels * block
                    for _ in range(columns[x, 2]):
                        if block == WIDEST and len(amounts) == 0:
                            add_64(target, here, weight, there, indices, first, end, block)
                        else:
                            _add(target, here, weight, there, indices, amounts, first, end, block, block)
                        here += form[5]
                        there += channels * block
        touched += rows[y, 2] * columns[x, 2] * (end - first) * depth
        first = end
    return touched


@compiled
def _add(
    target: Any, here: Any, weight: Any, there: Any, indices: Any, amounts: Any, first: Any, end: Any, stride: Any, number: Any
) -> None:
    if len(amounts) > 0:
        add_rows_graded(target, here, weight, there, indices, amounts, first, end, stride, number)
    else:
        add_rows(target, here, weight, there, indices, first, end, stride, number)


@compiled
def scatter_by_taps(target: Any, weight: Any, indices: Any, form: Any, rows: Any, columns: Any, starts: Any) -> None:
    """The same sums for a synapse without groups that is not fused, tap by tap of the kernel: its weights stay in the nearest cache.

    Pays where weights are wide and several neurons of a place fire. `starts` [H * W + 1] is room for where a place's spikes begin.
    """
    find_places(indices, form[0], starts)
    for k in range(0, form[5], WIDEST):
        for i in range(form[2]):
            for j in range(form[3]):
                add_tap(target, weight, indices, form, rows, columns, starts, i, j, k)


@compiled
def add_tap(target: Any, weight: Any, indices: Any, form: Any, rows: Any, columns: Any, starts: Any, i: Any, j: Any, k: Any) -> None:
    """Add the tap (i, j) of every spike to its target's channels from k, up to the widest that registers hold."""
    channels, width, depth = form[0], form[1], form[5]
    block = min(WIDEST, depth - k)
    weights = k * form[2] * form[3] * channels + (i * form[3] + j) * channels * block
    for y in range(len(rows)):
        down = i - rows[y, 1]
        if down < 0 or down >= rows[y, 2]:
            continue
        line = (rows[y, 0] + down) * form[4]
        for x in range(len(columns)):
            along = j - columns[x, 1]
            place = y * width + x
            first, end = np.int64(starts[place]), np.int64(starts[place + 1])
            if along < 0 or along >= columns[x, 2] or first == end:
                continue
            into = np.int64((line + columns[x, 0] + along) * depth + k)
            if block == WIDEST:
                add_64(target, into, weight, weights - place * channels * block, indices, first, end, block)
            else:
                add_rows(target, into, weight, weights - place * channels * block, indices, first, end, block, block)


@compiled
def find_places(indices: Any, channels: Any, starts: Any) -> None:
    """starts[p] <- where the spikes of place p begin among `indices` (rising); those of the last place end at the last entry."""
    place = 0
    starts[0] = 0
    for i in range(len(indices)):
        here = indices[i] // channels
        while place < here:
            place += 1
            starts[place] = i
    while place < len(starts) - 1:
        place += 1
        starts[place] = len(indices)


@compiled
def scatter_graded(target: Any, weight: Any, values: Any, form: Any, rows: Any, columns: Any) -> int:
    """Add values[i] times the patch of every source neuron i with a value that is not zero; the number of weights touched."""
    indices = np.empty(len(values), np.int32)
    number = 0
    for i in range(len(values)):
        indices[number] = i
        number += values[i] != 0
    return scatter(target, weight, indices[:number], values, form, rows, columns) if number > 0 else 0
