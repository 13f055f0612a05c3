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

    target [H * W * C], weight [C_source * row taps * column taps * C_target / groups], both one-dimensional.
    """
    channels, width = form[0], form[1]
    channel, place = index % channels, index // channels
    y, x = place // width, place % width
    depth = form[5] // form[6]  # target channels of one group
    number = columns[x, 2]
    run = number * depth if form[6] == 1 else depth
    group_start = (channel // (channels // form[6])) * depth
    for j in range(rows[y, 2]):
        source_row = ((channel * form[2] + rows[y, 1] + j) * form[3] + columns[x, 1]) * depth
        target_row = ((rows[y, 0] + j) * form[4] + columns[x, 0]) * form[5] + group_start
        for i in range(1 if form[6] == 1 else number):
            into = target[target_row + i * form[5] : target_row + i * form[5] + run]
            taken = weight[source_row + i * depth : source_row + i * depth + run]
            for k in range(run):
                into[k] += taken[k] * amount
    return rows[y, 2] * number * depth


@compiled
def add_four_patches(target: Any, weight: Any, indices: Any, amount: Any, form: Any, rows: Any, columns: Any) -> int:
    """The same for four sources at one place (y, x) of a synapse without groups: the targets are read and written once, not four times."""
    channels, width, depth = form[0], form[1], form[5]
    place = indices[0] // channels
    y, x = place // width, place % width
    kernel = form[2] * form[3] * depth
    run = columns[x, 2] * depth
    for j in range(rows[y, 2]):
        row = ((rows[y, 1] + j) * form[3] + columns[x, 1]) * depth - place * channels * kernel
        target_row = ((rows[y, 0] + j) * form[4] + columns[x, 0]) * depth
        into = target[target_row : target_row + run]
        first = weight[row + indices[0] * kernel : row + indices[0] * kernel + run]
        second = weight[row + indices[1] * kernel : row + indices[1] * kernel + run]
        third = weight[row + indices[2] * kernel : row + indices[2] * kernel + run]
        fourth = weight[row + indices[3] * kernel : row + indices[3] * kernel + run]
        for k in range(run):
            into[k] += (first[k] + second[k] + third[k] + fourth[k]) * amount
    return 4 * rows[y, 2] * run


@compiled
def scatter(target: Any, weight: Any, indices: Any, amount: Any, form: Any, rows: Any, columns: Any) -> int:
    """Add `amount` times the patch of every source neuron in `indices` (rising) to target [H * W * C]; the number of weights touched."""
    channels, alone = form[0], form[6] > 1
    touched = 0
    i = 0
    while i < len(indices):
        if not alone and i + 3 < len(indices) and indices[i + 3] // channels == indices[i] // channels:
            touched += add_four_patches(target, weight, indices[i : i + 4], amount, form, rows, columns)
            i += 4
        else:
            touched += add_patch(target, weight, np.int64(indices[i]), amount, form, rows, columns)
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
