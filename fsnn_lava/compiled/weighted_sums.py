"""Weighted sums, weight @ messages, for a whole batch, message by message, so that silent neurons cost nothing.

This is the comparator's own arithmetic, which shares no code with the simulations that it checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.limits import INT32_MAX

Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Taps:
    """A convolution or its transpose: what one source channel adds to its targets. A dense connection is one position of 1 x 1 taps."""

    weight: NDArray[Any]  # [C_in, kH, kW, C_out / groups]
    source: tuple[int, int, int]  # C_in, H, W
    target: tuple[int, int, int]
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    groups: int = 1
    dilation: Pair = (1, 1)
    transposed: bool = False
    _converted: dict[Any, NDArray[Any]] = field(default_factory=dict, init=False, repr=False)

    def sums(self, messages: NDArray[Any]) -> NDArray[Any]:
        """Return the weighted sums [B, C, H, W] of the target: int64 and exact for integer messages, else float64."""
        flat = messages.reshape(len(messages), *self.source)
        exact = messages.dtype.kind in "iub" and self.weight.dtype.kind in "iub"
        kind = self._accumulator(flat) if exact else np.dtype(np.float64)
        out = np.empty((len(flat), *self.target), dtype=np.int64 if exact else np.float64)
        weight = self._weight(kind)
        form = np.array([*self.stride, *self.padding, *self.dilation, self.groups, self.transposed], dtype=np.int64)
        flat = np.ascontiguousarray(flat if messages.dtype != np.bool_ else flat.view(np.uint8))
        over_samples(lambda first, end: _sum_messages(first, end, weight, flat, form, out), len(flat))
        return out

    def _accumulator(self, messages: NDArray[Any]) -> np.dtype[Any]:
        """Return int32 if no partial sum can exceed its range, else int64."""
        largest = max(abs(int(messages.max(initial=0))), abs(int(messages.min(initial=0))))
        return np.dtype(np.int32 if self._largest_sum * largest <= INT32_MAX else np.int64)

    @cached_property
    def _largest_sum(self) -> int:
        """An upper bound on the weighted sums if all messages are 1."""
        per_source = np.abs(self.weight.astype(np.int64)).max(axis=(1, 2, 3), initial=0)
        return int(per_source.sum()) * int(np.prod(self.weight.shape[1:3]))

    def _weight(self, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return the weights as `kind`; they are converted only once."""
        if kind not in self._converted:
            self._converted[kind] = np.ascontiguousarray(self.weight, dtype=kind)
        return self._converted[kind]


@compiled
def _sum_messages(first: int, end: int, weight: Any, messages: Any, form: Any, out: Any) -> None:
    """Set out[b] to weight @ messages[b]. `form` holds two strides, two paddings, two dilations, groups, and whether it is transposed."""
    channels, rows, columns, depth = weight.shape
    _, _, height, width = messages.shape
    total = np.zeros((out.shape[2], out.shape[3], out.shape[1]), dtype=weight.dtype)
    together = channels // form[6]
    for b in range(first, end):
        total[:] = 0
        for c in range(channels):
            start = (c // together) * depth
            for y in range(height):
                for x in range(width):
                    message = weight.dtype.type(messages[b, c, y, x])
                    if message == 0:
                        continue
                    for ky in range(rows):
                        ty = _target(y, ky * form[4], form[0], form[2], form[7])
                        if ty < 0 or ty >= total.shape[0]:
                            continue
                        for kx in range(columns):
                            tx = _target(x, kx * form[5], form[1], form[3], form[7])
                            if tx < 0 or tx >= total.shape[1]:
                                continue
                            tap, into = weight[c, ky, kx], total[ty, tx, start : start + depth]
                            for o in range(depth):
                                into[o] += tap[o] * message
        for c in range(out.shape[1]):
            for y in range(out.shape[2]):
                for x in range(out.shape[3]):
                    out[b, c, y, x] = total[y, x, c]


@compiled
def _target(place: int, tap: int, stride: int, padding: int, transposed: int) -> int:
    """Return the target position to which the tap at offset `tap` adds the message from `place`; -1 if the stride skips it."""
    if transposed:
        return place * stride + tap - padding
    reach = place + padding - tap
    return reach // stride if reach >= 0 and reach % stride == 0 else -1
