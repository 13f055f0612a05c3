"""Scatter messages through a synapse's patches. Any number type: int8 weights onto int32 potentials, or float32 onto float32.

`form` describes the synapse's Patches in integers, in the order of FORM.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled import compiled
from fsnn_lava.emulator.geometry import Patches
from fsnn_lava.emulator.rows import add_64, add_rest

FORM = ("source channels", "source width", "row taps", "column taps", "target width", "target channels", "groups")
WIDEST = 64  # targets whose sums fit into registers
BUSY = 4  # spikes per place from which walking tap by tap pays for float32, measured for 64 channels and 5 x 5 taps


def form_of(patches: Patches) -> NDArray[np.int64]:
    """[7] integers, see FORM."""
    row_taps, column_taps, channels, _ = patches.weight.shape
    numbers = (channels, len(patches.columns), row_taps, column_taps, patches.width, patches.channels, patches.groups)
    return np.array(numbers, dtype=np.int64)


@compiled
def add_patch(target: Any, weight: Any, index: Any, amount: Any, form: Any, rows: Any, columns: Any) -> int:
    """target += amount * weight over the patch of source neuron `index`; the number of weights touched.

    target [H * W * C], weight [row taps * column taps * C_source * C_target / groups], both one-dimensional.
    """
    channels, width, groups = form[0], form[1], form[6]
    place = index // channels
    channel, y, x = index - place * channels, place // width, place % width
    depth = form[5] // groups  # target channels of one group
    tap = channels * depth
    for i in range(rows[y, 2]):
        for j in range(columns[x, 2]):
            source = ((rows[y, 1] + i) * form[3] + columns[x, 1] + j) * tap + channel * depth
            into = ((rows[y, 0] + i) * form[4] + columns[x, 0] + j) * form[5] + channel // (channels // groups) * depth
            for k in range(depth):
                target[into + k] += weight[source + k] * amount
    return rows[y, 2] * columns[x, 2] * depth


@compiled
def scatter(target: Any, weight: Any, indices: Any, form: Any, rows: Any, columns: Any) -> int:
    """Add the patch of every source neuron in `indices` (rising) to target [H * W * C]; the number of weights touched.

    The spikes of one place (and group) share their targets, so they are added together.
    """
    channels, width, groups = form[0], form[1], form[6]
    together, depth = channels // groups, form[5] // groups
    tap = channels * depth
    touched, first, number = 0, np.int64(0), len(indices)
    while first < number:
        block = indices[first] // together
        end = first + 1
        while end < number and indices[end] < (block + 1) * together:
            end += 1
        place, group = block // groups, block % groups
        y, x = place // width, place % width
        source = np.int64((rows[y, 1] * form[3] + columns[x, 1] - place) * tap)
        into = np.int64((rows[y, 0] * form[4] + columns[x, 0]) * form[5] + group * depth)
        for k in range(0, depth, WIDEST):
            whole = k + WIDEST <= depth
            for i in range(rows[y, 2]):
                here, there = into + i * form[4] * form[5] + k, source + i * form[3] * tap + k
                for _ in range(columns[x, 2]):
                    if whole:
                        add_64(target, here, weight, there, indices, first, end, depth)
                    else:
                        add_rest(target, here, weight, there, indices, first, end, depth, depth - k)
                    here += form[5]
                    there += tap
        touched += rows[y, 2] * columns[x, 2] * (end - first) * depth
        first = end
    return touched


@compiled
def scatter_by_taps(target: Any, weight: Any, indices: Any, form: Any, rows: Any, columns: Any, starts: Any) -> None:
    """The same sums for a synapse without groups, one tap of the kernel after the other: its weights stay in the nearest cache.

    Pays where weights are wide and several neurons of a place fire. `starts` [H * W + 1] is room for where a place's spikes begin.
    """
    find_places(indices, form[0], starts)
    depth = form[5]
    for k in range(0, depth, WIDEST):
        for i in range(form[2]):
            for j in range(form[3]):
                add_tap(target, weight, indices, form, rows, columns, starts, i, j, k)


@compiled
def add_tap(target: Any, weight: Any, indices: Any, form: Any, rows: Any, columns: Any, starts: Any, i: Any, j: Any, k: Any) -> None:
    """Add the tap (i, j) of every spike to its target's channels from k, up to the widest that registers hold."""
    channels, width, depth = form[0], form[1], form[5]
    tap = channels * depth
    weights = (i * form[3] + j) * tap + k
    whole = k + WIDEST <= depth
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
            if whole:
                add_64(target, into, weight, weights - place * tap, indices, first, end, depth)
            else:
                add_rest(target, into, weight, weights - place * tap, indices, first, end, depth, depth - k)


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
    touched = 0
    for i in range(len(values)):
        if values[i] != 0:
            touched += add_patch(target, weight, i, values[i], form, rows, columns)
    return touched
