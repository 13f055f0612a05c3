"""Upper bounds of operator norms from Lanczos's method with a random start; each fails with a stated probability (E18)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Linear = Callable[[Floats], Floats]  # [B, n] -> [B, m], one operator per row

_LOOK_EVERY = 4  # steps between two checks of the bounds
_HALVINGS = 32  # of the interval that contains a bound
_ROUNDING = 1 + 1e-9  # room for float64


@dataclass(frozen=True)
class NormBounds:
    """[B] `lower` <= ||A|| <= `upper`; the upper one fails with at most the requested probability, per row."""

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
    """Bounds of the norms of B operators on vectors of n numbers; `start` [B, n] are normally distributed random numbers.

    A row is done when upper <= (1 + relative) lower, or, with `enough`, when it is known to lie above or below that number. It does not
    depend on the other rows.
    `failure`: the probability, per row, with which an upper bound may be wrong: that of a start almost orthogonal to the wanted direction.
    """
    rows, size = start.shape
    most = min(max_steps, size)
    basis = np.empty((rows, most + 1, size))
    basis[:, 0] = _normalised(start)[0]
    diagonal, beside = np.zeros((rows, 0)), np.zeros((rows, 0))
    least_part = failure * np.sqrt(np.pi / (2 * size))
    lower, upper, open_rows = np.zeros(rows), np.full(rows, np.inf), np.ones(rows, dtype=bool)
    for step in range(1, most + 1):
        last, known = basis[:, step - 1], basis[:, :step]
        image = transpose(apply(last))
        diagonal = np.column_stack([diagonal, np.einsum("bn,bn->b", image, last)])
        for _ in range(2):  # twice is enough for orthogonality to rounding
            parts = np.matmul(known, image[:, :, None])
            image = image - np.matmul(parts.transpose(0, 2, 1), known)[:, 0]
        basis[:, step], length = _normalised(image)
        beside = np.column_stack([beside, length])
        if step % _LOOK_EVERY == 0 or step == most:
            below, above = _bounds(diagonal, beside, least_part)
            lower, upper = np.where(open_rows, below, lower), np.where(open_rows, above, upper)
            open_rows &= upper > (1 + relative) * lower
            if enough is not None:
                open_rows &= (lower < enough) & (upper >= enough)
            if not open_rows.any():
                break
    return NormBounds(lower, upper, step)


def _normalised(vectors: Floats) -> tuple[Floats, Floats]:
    """Rows of length 1, and their lengths; a zero row stays zero."""
    lengths = np.sqrt(np.einsum("bn,bn->b", vectors, vectors))
    return vectors / np.where(lengths > 0, lengths, 1.0)[:, None], lengths


def _bounds(diagonal: Floats, beside: Floats, least_part: float) -> tuple[Floats, Floats]:
    """Lower bound: the largest Ritz value. Upper bound: the largest eigenvalue whose part of the start may be as small as `least_part`."""
    steps = diagonal.shape[1]
    matrices = np.zeros((len(diagonal), steps, steps))
    index = np.arange(steps)
    matrices[:, index, index] = diagonal
    matrices[:, index[1:], index[:-1]] = beside[:, :-1]
    lowest = np.maximum(np.linalg.eigvalsh(matrices)[:, -1], 0.0)
    low, high = lowest.copy(), np.maximum(lowest, 1e-300)
    for _ in range(200):
        hidden = ~_excluded(high, diagonal, beside, least_part)
        if not hidden.any():
            break
        high = np.where(hidden, 2 * high, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        out = _excluded(middle, diagonal, beside, least_part)
        low, high = np.where(out, low, middle), np.where(out, middle, high)
    return np.sqrt(lowest) / _ROUNDING, np.sqrt(high) * _ROUNDING


def _excluded(value: Floats, diagonal: Floats, beside: Floats, least_part: float) -> NDArray[np.bool_]:
    """[B] whether no eigenvalue >= `value` can have a part `least_part` in the start: the sum of p_j(value)**2 exceeds its inverse square.

    p_j are the orthonormal polynomials of the start's spectral measure. Above the largest Ritz value they grow.
    """
    before, now = np.zeros(len(value)), np.ones(len(value))
    total = np.ones(len(value))
    tiny = np.finfo(float).tiny
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for j in range(diagonal.shape[1]):
            left = beside[:, j - 1] * before if j else 0.0
            after = ((value - diagonal[:, j]) * now - left) / np.maximum(beside[:, j], tiny)
            before, now = now, np.where(np.isfinite(after), after, np.inf)
            total = total + np.square(now)
            total = np.where(np.isfinite(total), total, np.inf)
            before = np.where(np.isfinite(now), before, 0.0)
            now = np.where(np.isfinite(now), now, 1e150)
    return total > least_part**-2
