"""Add messages to their targets through a connection's patches, in any number type: int8 weights to int32, or float32 to float32.

`form` describes the Patches as integers, in the order of FORM. The functions return the number of weights added: the operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.patches import WIDEST, Patches
from fsnn_lava.compiled.row_sums import add_64, add_rows, add_rows_graded

FORM = (
    "source channels",
    "source width",
    "row taps",
    "column taps",
    "target width",
    "target channels",
    "groups",
    "fused",
    "row step",
    "column step",
)
SOURCE_CHANNELS, SOURCE_WIDTH, ROW_TAPS, COLUMN_TAPS, TARGET_WIDTH, TARGET_CHANNELS, GROUPS, FUSED, ROW_STEP, COLUMN_STEP = range(len(FORM))
BUSY = 4  # spikes per position above which scatter_by_taps is faster in float32, measured for 64 channels and 5 x 5 taps


def scatter_form(patches: Patches) -> NDArray[np.int64]:
    """Return the form of patches that `scatter` expects: 10 integers, see FORM."""
    row_taps, column_taps, channels, _ = patches.weight.shape
    sizes = (channels, len(patches.column_spans), row_taps, column_taps, patches.width, patches.channels)
    return np.array([*sizes, patches.groups, patches.fused, patches.row_step, patches.column_step], dtype=np.int64)


@compiled
def scatter(target: Any, weight: Any, indices: Any, amounts: Any, form: Any, row_spans: Any, column_spans: Any) -> int:
    """Add the patch of every source neuron in `indices` (ascending) to target [H * W * C]; return the operations.

    Messages are spikes if `amounts` is empty, else amounts[index]. weight is Patches.blocks. The messages of one position (and group)
    share their targets, so they are added together.
    """
    channels, width, groups, taps = form[SOURCE_CHANNELS], form[SOURCE_WIDTH], form[GROUPS], form[COLUMN_TAPS]
    together, depth = channels // groups, form[TARGET_CHANNELS] // groups
    down, right = form[ROW_STEP] * form[TARGET_WIDTH] * form[TARGET_CHANNELS], form[COLUMN_STEP] * form[TARGET_CHANNELS]
    operations, first, number = 0, np.int64(0), len(indices)
    y, next_row = np.int64(0), np.int64(width)  # the position's row, and where the next one begins: counted, because a division is slow
    while first < number:
        run = indices[first] // together
        end, run_end = first + 1, (run + 1) * together
        while end < number and indices[end] < run_end:
            end += 1
        place, group = run, np.int64(0)
        if groups > 1:
            place = run // groups
            group = run - place * groups
        while place >= next_row:
            y += 1
            next_row += width
        x = place - (next_row - width)
        rows, columns = row_spans[y, 2], column_spans[x, 2]
        here = np.int64((row_spans[y, 0] * form[TARGET_WIDTH] + column_spans[x, 0]) * form[TARGET_CHANNELS] + group * depth)
        if form[FUSED]:
            # the indices already include position * channels
            there = np.int64((row_spans[y, 1] - place) * channels * taps + column_spans[x, 1]) * depth
            for _ in range(rows):
                _add(target, here, weight, there, indices, amounts, first, end, taps * depth, columns * depth)
                here += down
                there += channels * taps * depth
        else:
            tap = np.int64(row_spans[y, 1] * taps + column_spans[x, 1] - place) * channels
            for k in range(0, depth, WIDEST):
                block = min(WIDEST, depth - k)
                start = k * form[ROW_TAPS] * taps * channels + tap * block
                into = here + k
                for _ in range(rows):
                    at, there = into, start
                    for _ in range(columns):
                        if block == WIDEST and len(amounts) == 0:
                            add_64(target, at, weight, there, indices, first, end, block)
                        else:
                            _add(target, at, weight, there, indices, amounts, first, end, block, block)
                        at += right
                        there += channels * block
                    into += down
                    start += taps * channels * block
        operations += rows * columns * (end - first) * depth
        first = end
    return operations


@compiled
def _add(
    target: Any, here: Any, weight: Any, there: Any, indices: Any, amounts: Any, first: Any, end: Any, stride: Any, number: Any
) -> None:
    if len(amounts) > 0:
        add_rows_graded(target, here, weight, there, indices, amounts, first, end, stride, number)
    else:
        add_rows(target, here, weight, there, indices, first, end, stride, number)


@compiled
def scatter_by_taps(targets: Any, weight: Any, lists: Any, begin: Any, lengths: Any, busy: Any, form: Any, row_spans: Any,
                    column_spans: Any, starts: Any) -> None:  # fmt: skip
    """Scatter as `scatter` does, for several samples, one kernel tap at a time, so that its weights stay cached; no groups, not fused.

    targets[b] takes the spikes lists[b, begin : begin + lengths[b]], if there are more than `busy`. Faster than `scatter` if weights are
    wide and several neurons at a position fire. `starts` [B, at least H * W + 1] is scratch. The sums of a sample do not depend on others.
    """
    some, places = False, len(row_spans) * len(column_spans)
    for b in range(len(targets)):
        if lengths[b] > busy:
            some = True
            find_scatter_places(lists[b, begin : begin + lengths[b]], form[SOURCE_CHANNELS], starts[b, : places + 1])
    if not some:
        return
    for k in range(0, form[TARGET_CHANNELS], WIDEST):
        for i in range(form[ROW_TAPS]):
            for j in range(form[COLUMN_TAPS]):
                for b in range(len(targets)):
                    if lengths[b] > busy:
                        _add_tap(targets[b], weight, lists[b], begin, form, row_spans, column_spans, starts[b], i, j, k)


@compiled
def _add_tap(target: Any, weight: Any, indices: Any, begin: Any, form: Any, row_spans: Any, column_spans: Any, starts: Any, i: Any, j: Any,
            k: Any) -> None:  # fmt: skip
    """Add the tap (i, j) of every spike to up to WIDEST channels of its target, from channel k on. indices[begin] is the first spike."""
    channels, width, depth = form[SOURCE_CHANNELS], form[SOURCE_WIDTH], form[TARGET_CHANNELS]
    block = min(WIDEST, depth - k)
    weights = k * form[ROW_TAPS] * form[COLUMN_TAPS] * channels + (i * form[COLUMN_TAPS] + j) * channels * block
    for y in range(len(row_spans)):
        down = i - row_spans[y, 1]
        if down < 0 or down >= row_spans[y, 2]:
            continue
        line = (row_spans[y, 0] + down * form[ROW_STEP]) * form[TARGET_WIDTH]
        for x in range(len(column_spans)):
            along = j - column_spans[x, 1]
            place = y * width + x
            first, end = np.int64(begin + starts[place]), np.int64(begin + starts[place + 1])
            if along < 0 or along >= column_spans[x, 2] or first == end:
                continue
            into = np.int64((line + column_spans[x, 0] + along * form[COLUMN_STEP]) * depth + k)
            if block == WIDEST:
                add_64(target, into, weight, weights - place * channels * block, indices, first, end, block)
            else:
                add_rows(target, into, weight, weights - place * channels * block, indices, first, end, block, block)


@compiled
def find_scatter_places(indices: Any, channels: Any, starts: Any) -> None:
    """Set starts[p] to where the spikes of position p begin in `indices` (ascending); the last entry is where those of the last one end."""
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
def scatter_graded(target: Any, weight: Any, values: Any, form: Any, row_spans: Any, column_spans: Any) -> int:
    """Add values[i] times the patch of every source neuron i whose value is not zero; return the operations."""
    indices = np.empty(len(values), np.int32)
    number = 0
    for i in range(len(values)):
        indices[number] = i
        number += values[i] != 0
    return scatter(target, weight, indices[:number], values, form, row_spans, column_spans) if number > 0 else 0
