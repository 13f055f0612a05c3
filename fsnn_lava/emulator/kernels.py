"""Scatter messages through a synapse's patches. Any number type: int8 weights onto int32 potentials, or float32 onto float32.

`form` describes the synapse's Patches in integers, in the order of FORM.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.emulator.compiled import compiled
from fsnn_lava.emulator.geometry import Patches

FORM = ("source channels", "source width", "row taps", "column taps", "target width", "target channels", "groups")


def form_of(patches: Patches) -> NDArray[np.int64]:
    """[7] integers, see FORM."""
    channels, row_taps, column_taps, _ = patches.weight.shape
    numbers = (channels, len(patches.columns), row_taps, column_taps, patches.width, patches.channels, patches.groups)
    return np.array(numbers, dtype=np.int64)


@compiled()
def add_patch(target: Any, weight: Any, index: int, amount: Any, form: Any, rows: Any, columns: Any) -> int:
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


@compiled()
def scatter(target: Any, weight: Any, indices: Any, amount: Any, form: Any, rows: Any, columns: Any) -> int:
    """Add `amount` times the patch of every source neuron in `indices` to target [H * W * C]; the number of weights touched."""
    touched = 0
    for i in range(len(indices)):
        touched += add_patch(target, weight, indices[i], amount, form, rows, columns)
    return touched


@compiled()
def scatter_graded(target: Any, weight: Any, values: Any, unit: Any, form: Any, rows: Any, columns: Any) -> int:
    """Add values[i] * unit times the patch of every source neuron i with a value that is not zero; the number of weights touched."""
    touched = 0
    for i in range(len(values)):
        if values[i] != 0:
            touched += add_patch(target, weight, i, values[i] * unit, form, rows, columns)
    return touched
