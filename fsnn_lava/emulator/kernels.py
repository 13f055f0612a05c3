"""Scatter messages through a synapse's patches. Any number type: int8 weights onto int32 potentials, or float32 onto float32.

`form` describes the synapse's Patches in integers, in the order of FORM.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled import compiled
from fsnn_lava.emulator.geometry import Patches

FORM = ("source channels", "source width", "row taps", "column taps", "target width", "target channels", "groups")


def form_of(patches: Patches) -> NDArray[np.int64]:
    """[7] integers, see FORM."""
    channels, row_taps, column_taps, _ = patches.weight.shape
    numbers = (channels, len(patches.columns), row_taps, column_taps, patches.width, patches.channels, patches.groups)
    return np.array(numbers, dtype=np.int64)


@compiled
def add_patch(target: Any, weight: Any, index: Any, amount: Any, form: Any, rows: Any, columns: Any) -> int:
    """target += amount * weight over the patch of source neuron `index`; the number of weights touched.

    target [H * W * C], weight [C_source * row taps * column taps * C_target / groups], both one-dimensional. Places are unsigned:
    no test for an index from the end stands in the inner loop's way.
    """
    channels, width, groups = form[0], form[1], form[6]
    place = index // channels
    channel, y, x = index - place * channels, place // width, place % width
    depth = form[5] // groups  # target channels of one group
    number = columns[x, 2]
    along, pieces = (number * depth, 1) if groups == 1 else (depth, number)  # one run of memory per row, or one per place
    source = np.uint64(((channel * form[2] + rows[y, 1]) * form[3] + columns[x, 1]) * depth)
    into = np.uint64((rows[y, 0] * form[4] + columns[x, 0]) * form[5] + channel // (channels // groups) * depth)
    run, next_source, next_into = np.uint64(along), np.uint64(form[3] * depth), np.uint64(form[4] * form[5])
    for _ in range(rows[y, 2]):
        for i in range(pieces):
            from_here, to_here = source + np.uint64(i * depth), into + np.uint64(i * form[5])
            for k in range(run):
                target[to_here + k] += weight[from_here + k] * amount
        source += next_source
        into += next_into
    return rows[y, 2] * number * depth


@compiled
def add_four_patches(
    target: Any, weight: Any, index: Any, second: Any, third: Any, fourth: Any, amount: Any, form: Any, rows: Any, columns: Any
) -> int:
    """The same for four sources at one place (y, x) of a synapse without groups: the targets are read and written once, not four times."""
    channels, width, depth = form[0], form[1], form[5]
    place = index // channels
    y, x = place // width, place % width
    kernel = form[2] * form[3] * depth
    start = (rows[y, 1] * form[3] + columns[x, 1]) * depth - place * channels * kernel
    a, b = np.uint64(start + index * kernel), np.uint64(start + second * kernel)
    c, d = np.uint64(start + third * kernel), np.uint64(start + fourth * kernel)
    into = np.uint64((rows[y, 0] * form[4] + columns[x, 0]) * depth)
    run, next_source, next_into = np.uint64(columns[x, 2] * depth), np.uint64(form[3] * depth), np.uint64(form[4] * depth)
    for _ in range(rows[y, 2]):
        for k in range(run):
            target[into + k] += (weight[a + k] + weight[b + k] + weight[c + k] + weight[d + k]) * amount
        a, b, c, d = a + next_source, b + next_source, c + next_source, d + next_source
        into += next_into
    return 4 * rows[y, 2] * columns[x, 2] * depth


@compiled
def scatter(target: Any, weight: Any, indices: Any, amount: Any, form: Any, rows: Any, columns: Any) -> int:
    """Add `amount` times the patch of every source neuron in `indices` (rising) to target [H * W * C]; the number of weights touched."""
    channels, alone = form[0], form[6] > 1
    touched = 0
    i = 0
    while i < len(indices):
        one = np.int64(indices[i])
        if not alone and i + 3 < len(indices) and indices[i + 3] // channels == one // channels:
            two, three, four = np.int64(indices[i + 1]), np.int64(indices[i + 2]), np.int64(indices[i + 3])
            touched += add_four_patches(target, weight, one, two, three, four, amount, form, rows, columns)
            i += 4
        else:
            touched += add_patch(target, weight, one, amount, form, rows, columns)
            i += 1
    return touched


@compiled
def scatter_graded(target: Any, weight: Any, values: Any, unit: Any, form: Any, rows: Any, columns: Any) -> int:
    """Add values[i] * unit times the patch of every source neuron i with a value that is not zero; the number of weights touched."""
    touched = 0
    for i in range(len(values)):
        if values[i] != 0:
            touched += add_patch(target, weight, i, values[i] * unit, form, rows, columns)
    return touched
