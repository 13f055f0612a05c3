"""Small operations on vectors that several compiled functions share."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.compiler import compiled

Floats: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64
Number: TypeAlias = "float | np.floating[Any]"  # of the same precision as the arrays


@partial(compiled, reorder=True)
def dot(a: Floats, b: Floats) -> Number:
    """Return the inner product of two vectors with at least one entry."""
    total = a[0] * b[0]
    for i in range(1, len(a)):
        total += a[i] * b[i]
    return total


@compiled
def add_multiple(target: Floats, factor: Number, vector: Floats) -> None:
    """Add factor * vector to `target`."""
    for i in range(len(target)):
        target[i] += factor * vector[i]


@compiled
def write_multiple(out: Floats, factor: Number, vector: Floats) -> None:
    """Write factor * vector to `out`; the two may be the same array."""
    for i in range(len(vector)):
        out[i] = factor * vector[i]


@compiled
def normalise(vector: Floats) -> None:
    """Scale a vector to length 1 in place; the zero vector stays zero."""
    length = np.sqrt(dot(vector, vector))
    if length > 0:
        write_multiple(vector, 1 / length, vector)


@compiled
def transposed_product(out: Floats, matrix: Floats, vector: Floats) -> None:
    """Write matrix^T vector to `out`."""
    out[:] = 0
    for i in range(len(vector)):
        add_multiple(out, vector[i], matrix[i])


@compiled
def vector_lengths(vectors: Floats, out: Floats, smallest: Number) -> None:
    """Set out[b] to the length of vectors[b], but no less than the root mean square of all lengths or `smallest`."""
    for b in range(len(out)):
        out[b] = np.sqrt(dot(vectors[b], vectors[b]))
    typical = np.sqrt(dot(out, out) / len(out))
    for b in range(len(out)):
        length = typical if typical > out[b] or typical != typical else out[b]  # NaN stays NaN
        out[b] = smallest if length < smallest else length
