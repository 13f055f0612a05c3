"""Convolution of raw input values with a layer's weights: exact in integers, and with a fixed order of summation in floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.threads import over_samples

Pair = tuple[int, int]


def convolve(
    weight: NDArray[Any], values: NDArray[np.uint8], *, stride: Pair = (1, 1), padding: Pair = (0, 0), dilation: Pair = (1, 1)
) -> NDArray[Any]:
    """Return the convolution [B, H, W, C_out] of `values` [B, C_in, H, W] with `weight` [C_in, kH, kW, C_out], in the weight's dtype."""
    sides = zip(values.shape[2:], weight.shape[1:3], stride, padding, dilation)
    size = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sides]
    out = np.zeros((len(values), *size, weight.shape[3]), dtype=weight.dtype)
    steps = np.array([*stride, *padding, *dilation], dtype=np.int64)
    arrays = np.ascontiguousarray(weight), np.ascontiguousarray(values), steps, out
    over_samples(lambda first, end: _convolve(first, end, *arrays), len(values))
    return out


@compiled
def _convolve(first: int, end: int, weight: Any, values: Any, steps: Any, out: Any) -> None:
    """Add weight * values to `out`. Outputs are summed in the order (c, ky, kx), so floats do not depend on the batch or on threads.

    `steps` are the two strides, the two paddings and the two dilations.
    """
    channels, kernel_height, kernel_width, _ = weight.shape
    _, _, height, width = values.shape
    for b in range(first, end):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                total = out[b, y, x]
                for c in range(channels):
                    for ky in range(kernel_height):
                        iy = y * steps[0] - steps[2] + ky * steps[4]
                        if iy < 0 or iy >= height:
                            continue
                        for kx in range(kernel_width):
                            ix = x * steps[1] - steps[3] + kx * steps[5]
                            if ix < 0 or ix >= width or values[b, c, iy, ix] == 0:
                                continue
                            message = values[b, c, iy, ix]
                            tap = weight[c, ky, kx]
                            for o in range(len(total)):
                                total[o] += tap[o] * message
