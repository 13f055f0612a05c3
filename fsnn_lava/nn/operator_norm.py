"""Guaranteed upper bounds on operator norms (E6)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
SLACK = 1e-10  # relative: a frequency whose squared norm exceeds the largest one by less than this is not distinguished from it


def matrix_operator_norm(weight: NDArray[np.float64]) -> float:
    """Return the operator norm of a matrix: its largest singular value."""
    return float(np.linalg.norm(np.asarray(weight, dtype=np.float64), 2))


def convolution_operator_norm_bound(weight: NDArray[np.float64], *, in_shape: tuple[int, ...], stride: Pair, padding: Pair) -> float:
    """Return an upper bound on the norm of the zero-padded convolution with `weight` [C_out, C_in, kH, kW] on inputs (C_in, H, W).

    It is the largest singular value of the kernel's DFT symbol on a torus of side n + k - 1; a stride is first rewritten as stride 1 on
    its phases. The norm of the kernel as a matrix, which spectral normalisation uses, can be several times smaller than the operator's.
    """
    matrix = np.asarray(weight, dtype=np.float64)
    phases, sizes = _phases(matrix, stride, padding, in_shape[1:])
    return _largest_symbol(phases, [n + k - 1 for n, k in zip(sizes, phases.shape[2:], strict=True)])


def _phases(weight: NDArray[np.float64], stride: Pair, padding: Pair, size: tuple[int, ...]) -> tuple[NDArray[np.float64], list[int]]:
    """Return the same operation with stride 1 on prod(stride) times as many channels: input row s q + r becomes row q of phase r."""
    out, inner, rows, columns = weight.shape
    offsets = [[divmod(a - p, s) for a in range(k)] for k, p, s in zip((rows, columns), padding, stride, strict=True)]
    first = [min(q for q, _ in axis) for axis in offsets]
    length = [max(q for q, _ in axis) - f + 1 for axis, f in zip(offsets, first, strict=True)]
    phases = np.zeros((out, stride[0], stride[1], inner, *length))
    for i, (row, row_phase) in enumerate(offsets[0]):
        for j, (column, column_phase) in enumerate(offsets[1]):
            phases[:, row_phase, column_phase, :, row - first[0], column - first[1]] += weight[:, :, i, j]
    return phases.reshape(out, -1, *length), [-(-n // s) for n, s in zip(size, stride, strict=True)]


def _largest_symbol(kernel: NDArray[np.float64], torus: list[int]) -> float:
    """Return the maximum over all frequencies of the largest singular value of the kernel's Fourier transform.

    Singular values are computed only where they may exceed the largest one so far; a Cholesky decomposition, which is four times as fast,
    shows where they do not.
    """
    largest = 0.0
    for symbol in _symbols(kernel, torus):
        adjoint = np.conj(symbol).T
        gram = adjoint @ symbol if symbol.shape[0] > symbol.shape[1] else symbol @ adjoint
        if not _positive_definite(largest * (1 + SLACK) * np.eye(len(gram)) - gram):
            largest = max(largest, float(np.linalg.eigvalsh(gram)[-1]))
    return float(np.sqrt(largest * (1 + SLACK))) * (1 + 1e-12 * kernel.shape[0])


def _symbols(kernel: NDArray[np.float64], torus: list[int]) -> Iterator[NDArray[np.complex128]]:
    """Yield the symbol [C_out, C_in] of half of all frequencies; those of the other half are complex conjugates."""
    taps = kernel.reshape(kernel.shape[0] * kernel.shape[1], -1).T.astype(np.complex128)
    rows, columns = (np.exp(-2j * np.pi / n * np.outer(np.arange(n), np.arange(k))) for n, k in zip(torus, kernel.shape[2:], strict=True))
    for row in rows:
        for column in columns[: torus[1] // 2 + 1]:
            yield (np.outer(row, column).ravel() @ taps).reshape(kernel.shape[:2])


def _positive_definite(matrix: NDArray[np.complex128]) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
