"""Sums of rows as plain loops: the same results in integers as row_vectors.py, for compilers that do not accept that code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fsnn_lava.compiled.compiler import compiled


def adding(width: int, *, chains: int = 1) -> Callable[..., None]:
    """Compile a loop: target[into + k] += sum of weight[start + indices[i] * stride + k] for first <= i < end and k < width."""

    @compiled
    def add(target: Any, into: Any, weight: Any, start: Any, indices: Any, first: Any, end: Any, stride: Any) -> None:
        for i in range(first, end):
            row = start + np.int64(indices[i]) * stride
            for k in range(width):
                target[into + k] += weight[row + k]

    return add


def adding_graded(width: int) -> Callable[..., None]:
    """Compile the same plain loop, but with each row multiplied by amounts[indices[i]]."""

    @compiled
    def add(target: Any, into: Any, weight: Any, start: Any, indices: Any, amounts: Any, first: Any, end: Any, stride: Any) -> None:
        for i in range(first, end):
            row = start + np.int64(indices[i]) * stride
            for k in range(width):
                target[into + k] += weight[row + k] * amounts[indices[i]]

    return add
