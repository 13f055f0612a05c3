"""The vector operations of GMRES, sample by sample: build an orthonormal basis, rotate the Hessenberg matrix, combine."""

from __future__ import annotations

import numpy as np

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.vectors import Floats, add_multiple, dot


@compiled
def start_gmres(first: int, end: int, start: Floats, basis: Floats, target: Floats, gain: Floats, scaled: Floats) -> None:
    """Start GMRES: basis[0] <- the direction of `start`, target[:, 0] <- its length; scaled <- gain basis[0], unless gain is empty."""
    for b in range(first, end):
        length = np.sqrt(dot(start[b], start[b]))  # the square of a tiny vector may underflow to 0; it then counts as zero
        new, target[b, 0] = basis[0, b], length
        for i in range(len(new)):
            new[i] = start[b, i] / length if length != 0 else length
        _scale_sample(b, new, gain, scaled)


@compiled
def _scale_sample(b: int, new: Floats, gain: Floats, scaled: Floats) -> None:
    """Set scaled[b] to gain[b] * new, unless gain is empty."""
    for i in range(gain.shape[1]):
        scaled[b, i] = gain[b, i] * new[i]


@compiled
def extend_gmres(first: int, end: int, k: int, basis: Floats, mapped: Floats, triangle: Floats, rotations: Floats, target: Floats,
                   gain: Floats, scaled: Floats) -> None:  # fmt: skip
    """Extend GMRES's basis by the new direction in v_k - A v_k; H's new column and the target are rotated so that H stays triangular.

    `scaled` becomes gain times the new vector, unless gain is empty.
    """
    for b in range(first, end):
        new, column = basis[k + 1, b], triangle[b, :, k]
        for i in range(len(new)):
            new[i] = basis[k, b, i] - mapped[b, i]
        for j in range(k + 1):
            column[j] = dot(basis[j, b], new)
            add_multiple(new, -column[j], basis[j, b])
        beyond = np.sqrt(dot(new, new))
        for i in range(len(new)):
            new[i] = new[i] / beyond if beyond > 0 else beyond
        _scale_sample(b, new, gain, scaled)
        for j in range(k):
            cosine, sine = rotations[b, j, 0], rotations[b, j, 1]
            column[j], column[j + 1] = cosine * column[j] + sine * column[j + 1], cosine * column[j + 1] - sine * column[j]
        length = np.sqrt(column[k] * column[k] + beyond * beyond)
        if length == 0:  # v_k - A v_k is zero: a sample without a gradient, or one without a solution, whose residual remains
            rotations[b, k, 0], rotations[b, k, 1] = 0, 1
            column[k] = 1
        else:  # also for NaN, which propagates into the residual and the solution
            rotations[b, k, 0], rotations[b, k, 1] = column[k] / length, beyond / length
            column[k] = length
        target[b, k + 1] = -rotations[b, k, 1] * target[b, k]
        target[b, k] *= rotations[b, k, 0]


@compiled
def combine_gmres(first: int, end: int, k: int, basis: Floats, triangle: Floats, rotations: Floats, target: Floats, solution: bool,
                    residual: bool, out: Floats) -> None:  # fmt: skip
    """Set `out` to the solution, [v_0 … v_{k-1}] R^-1 target, the residual, [v_0 … v_k] Q^T (0 … 0, last of target), or their sum."""
    for b in range(first, end):
        weights = np.zeros(k + 1, target.dtype)
        if solution:
            for j in range(k - 1, -1, -1):
                weights[j] = target[b, j]
                for i in range(j + 1, k):
                    weights[j] -= triangle[b, j, i] * weights[i]
                weights[j] /= triangle[b, j, j]
        if residual:
            last = target[b, k]
            for j in range(k - 1, -1, -1):
                weights[j + 1] += rotations[b, j, 0] * last
                last = -rotations[b, j, 1] * last
            weights[0] += last
        for i in range(out.shape[1]):
            out[b, i] = weights[0] * basis[0, b, i]
        for j in range(1, k + 1):
            add_multiple(out[b], weights[j], basis[j, b])
