"""target += sum of rows of a matrix: the innermost loop of all event-driven code."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np

from fsnn_lava.compiled import row_loops, row_vectors
from fsnn_lava.compiled.compiler import compiled

BLOCK = 16  # targets whose weights from a few hundred sources stay in the L1 cache while many samples use them


def fastest_row_sums() -> ModuleType:
    """Return the module that computes row sums: row_vectors, or, with a warning, row_loops where LLVM does not accept the vector code.

    Loops are 7 to 44 times slower (python bench/kernels.py: 7 to 14 for float32, 18 to 44 for int8).
    """
    try:
        row_vectors.check_row_vectors()
    except Exception as error:  # whatever a future llvmlite raises
        problem = " ".join(str(error).split())[:200]
        warnings.warn(
            f"LLVM does not accept the vector code ({problem}); plain loops are used instead, which are many times slower", stacklevel=2
        )
        return row_loops
    return row_vectors


_chosen = fastest_row_sums()
add_64, _add_32, _add_16, _add_8 = (_chosen.adding(width) for width in (64, 32, 16, 8))
add_64_graded, _add_16_graded = (_chosen.adding_graded(width) for width in (64, 16))
_add_block = _chosen.adding(BLOCK, chains=4)


@compiled
def add_rows(target: Any, into: Any, weight: Any, start: Any, indices: Any, first: Any, end: Any, stride: Any, number: Any) -> None:
    """Add rows: target[into + k] += sum of weight[start + indices[i] * stride + k] for first <= i < end and k < `number`."""
    k = np.int64(0)
    while number - k >= 64:
        add_64(target, into + k, weight, start + k, indices, first, end, stride)
        k += 64
    if number - k >= 32:
        _add_32(target, into + k, weight, start + k, indices, first, end, stride)
        k += 32
    if number - k >= 16:
        _add_16(target, into + k, weight, start + k, indices, first, end, stride)
        k += 16
    if number - k >= 8:
        _add_8(target, into + k, weight, start + k, indices, first, end, stride)
        k += 8
    if k < number:
        for i in range(first, end):
            row = start + np.int64(indices[i]) * stride
            for rest in range(k, number):
                target[into + rest] += weight[row + rest]


@compiled
def add_rows_graded(
    target: Any, into: Any, weight: Any, start: Any, indices: Any, amounts: Any, first: Any, end: Any, stride: Any, number: Any
) -> None:
    """Add rows as `add_rows` does, each multiplied by amounts[indices[i]]."""
    k = np.int64(0)
    while number - k >= 64:
        add_64_graded(target, into + k, weight, start + k, indices, amounts, first, end, stride)
        k += 64
    while number - k >= 16:
        _add_16_graded(target, into + k, weight, start + k, indices, amounts, first, end, stride)
        k += 16
    if k < number:
        for i in range(first, end):
            row = start + np.int64(indices[i]) * stride
            for rest in range(k, number):
                target[into + rest] += weight[row + rest] * amounts[indices[i]]


@compiled
def add_row_sums_by_block(targets: Any, weight: Any, lists: Any, begin: Any, lengths: Any, sources: Any) -> None:
    """Add the rows lists[b, begin : begin + lengths[b]] of a matrix to targets[b], for many samples b, block by block.

    `weight` is [blocks, sources, BLOCK], flattened; its last block is padded with zeros, as are the targets.
    """
    for block in range(len(weight) // (sources * BLOCK)):
        for b in range(len(targets)):
            _add_block(targets[b], block * BLOCK, weight, block * sources * BLOCK, lists[b], begin, begin + lengths[b], BLOCK)
