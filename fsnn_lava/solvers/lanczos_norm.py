"""Upper bounds on operator norms from Lanczos's method with a random start; each may fail, with a stated probability (E18)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.norm_bound import hidden_eigenvalues

Floats = NDArray[np.float64]
Linear = Callable[[Floats], Floats]  # [B, n] -> [B, m], one operator per row

_LOOK_EVERY = 4  # steps between two evaluations of the bounds
_ROUNDING = 1 + 1e-9  # margin for float64 rounding


@dataclass(frozen=True)
class NormBounds:
    """Bounds `lower` <= ||A|| <= `upper`, [B] each; the upper one fails with at most the requested probability, per row."""

    lower: Floats
    upper: Floats
    steps: int  # products with A, and as many with its transpose


def norm_bounds(
    apply: Linear,
    transpose: Linear,
    start: Floats,
    *,
    failure: float = 1e-12,
    relative: float = 0.05,
    max_steps: int = 60,
    enough: float | None = None,
) -> NormBounds:
    """Bound the norms of B operators on vectors of n numbers by Lanczos's method; `start` [B, n] is normally distributed.

    A row is done when upper <= (1 + relative) lower, or, with `enough`, when its norm is known to lie above or below that number. Rows do
    not depend on each other.
    `failure`: the probability, per row, that an upper bound is wrong because the start is almost orthogonal to the wanted direction.
    """
    rows, size = start.shape
    most = max(1, min(max_steps, size))
    basis = np.empty((rows, most + 1, size))
    basis[:, 0] = _normalised(start)[0]
    diagonal, beside = np.zeros((rows, most)), np.zeros((rows, most))
    least_part = failure * np.sqrt(np.pi / (2 * size))
    lower, upper, open_rows = np.zeros(rows), np.full(rows, np.inf), np.ones(rows, dtype=bool)
    for step in range(1, most + 1):
        last, known = basis[:, step - 1], basis[:, :step]
        image = transpose(apply(last))
        diagonal[:, step - 1] = np.einsum("bn,bn->b", image, last)
        for _ in range(2):  # twice is enough for orthogonality to rounding
            parts = np.matmul(known, image[:, :, None])
            image = image - np.matmul(parts.transpose(0, 2, 1), known)[:, 0]
        basis[:, step], beside[:, step - 1] = _normalised(image)
        if step % _LOOK_EVERY == 0 or step == most:
            below, above = _bounds(diagonal[:, :step], beside[:, :step], least_part)
            lower, upper = np.where(open_rows, below, lower), np.where(open_rows, above, upper)
            open_rows &= upper > (1 + relative) * lower
            if enough is not None:
                open_rows &= (lower < enough) & (upper >= enough)
            if not open_rows.any():
                break
    return NormBounds(lower, upper, step)


def _normalised(vectors: Floats) -> tuple[Floats, Floats]:
    """Return the rows scaled to length 1, and their original lengths; a zero row stays zero."""
    lengths = np.sqrt(np.einsum("bn,bn->b", vectors, vectors))
    return vectors / np.where(lengths > 0, lengths, 1.0)[:, None], lengths


def _bounds(diagonal: Floats, beside: Floats, least_part: float) -> tuple[Floats, Floats]:
    """Return the lower bound, the largest Ritz value, and the upper bound, valid if the start's top component is at least `least_part`."""
    steps = diagonal.shape[1]
    matrices = np.zeros((len(diagonal), steps, steps))
    index = np.arange(steps)
    matrices[:, index, index] = diagonal
    matrices[:, index[1:], index[:-1]] = beside[:, :-1]
    lowest = np.maximum(np.linalg.eigvalsh(matrices)[:, -1], 0.0)
    highest = np.empty_like(lowest)
    hidden_eigenvalues(lowest, np.ascontiguousarray(diagonal), np.ascontiguousarray(beside), steps, least_part**-2, highest)
    return np.sqrt(lowest) / _ROUNDING, np.sqrt(highest) * _ROUNDING
