"""Guaranteed upper bounds of operator norms, and the spectral radius of gains (E6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]


def matrix_norm(weight: NDArray[np.float64]) -> float:
    """The largest singular value."""
    return float(np.linalg.norm(np.asarray(weight, dtype=np.float64), 2))


def convolution_norm_bound(weight: NDArray[np.float64], *, in_shape: tuple[int, ...], stride: Pair, padding: Pair) -> float:
    """An upper bound of the norm of the zero-padded convolution with `weight` [C_out, C_in, kH, kW] on inputs (C_in, H, W).

    The largest singular value of the kernel's DFT symbol on a torus of side n + k - 1; a stride is first written as stride 1 on its
    phases. The norm of the kernel as a matrix, which spectral normalisation uses, can be several times smaller than the operator's.
    """
    matrix = np.asarray(weight, dtype=np.float64)
    phases, sizes = _phases(matrix, stride, padding, in_shape[1:])
    return _largest_symbol(phases, [n + k - 1 for n, k in zip(sizes, phases.shape[2:], strict=True)])


def _phases(weight: NDArray[np.float64], stride: Pair, padding: Pair, size: tuple[int, ...]) -> tuple[NDArray[np.float64], list[int]]:
    """The same operation with stride 1 on prod(stride) times the channels: input row s q + r becomes row q of phase r."""
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
    """The maximum over all frequencies of the largest singular value of the kernel's Fourier transform."""
    symbol = np.fft.rfft2(kernel, s=torus).transpose(2, 3, 0, 1).reshape(-1, *kernel.shape[:2])
    largest = 0.0
    for part in np.array_split(symbol, max(1, symbol.size // 2**22)):
        if part.shape[1] > part.shape[2]:
            gram = np.conj(part).transpose(0, 2, 1) @ part
        else:
            gram = part @ np.conj(part).transpose(0, 2, 1)
        largest = max(largest, float(np.linalg.eigvalsh(gram)[:, -1].max()))
    return float(np.sqrt(largest)) * (1 + 1e-12 * kernel.shape[0])


def spectral_radius(gains: NDArray[np.float64]) -> float:
    """The spectral radius; below 1 the equilibrium is unique and reached from every start (E6, E11)."""
    return float(np.abs(np.linalg.eigvals(gains)).max())
