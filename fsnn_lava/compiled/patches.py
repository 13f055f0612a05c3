"""Dense connections, convolutions and their transposes in one form: a message at (y, x, c) adds a patch of weights to a block of targets.

All arrays are channels last. In a convolution of stride s, a message meets every s-th tap of the kernel. The rows and columns of taps are
therefore reordered so that the taps that one message meets are adjacent and in the order of their targets: the patch is one block.
The targets of neighbouring taps are `row_step` rows (`column_step` columns) apart, which is 1 unless the convolution is dilated.
Taps are the first axes of the weights, followed by the source's channels, so the weights of one tap are contiguous. A transposed
convolution is a block already; a dense connection has one tap.

A *span* describes one source row (or column): its first target row, first tap, and number of taps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]
Pair = tuple[int, int]
WIDEST = 64  # target channels whose sums fit into registers
FUSED = 160  # a row of taps with up to this many weights is added at once


@dataclass(frozen=True, kw_only=True, eq=False)
class Patches:
    """A connection in the form that `scatter` needs. Source and target are [H, W, C], flattened."""

    weight: NDArray[np.int8]  # [row taps, column taps, C_source, C_target / groups], taps in convolution_patch_spans order
    row_spans: NDArray[np.int32]  # [H_source, 3]
    column_spans: NDArray[np.int32]  # [W_source, 3]
    width: int  # of the target
    channels: int  # of the target
    groups: int = 1
    row_step: int = 1  # distance from the target row of one tap to that of the next
    column_step: int = 1

    @property
    def blocks(self) -> NDArray[np.int8]:
        """Weights of the patches, flattened, as `scatter` reads them.

        They come in blocks of WIDEST target channels (of one group), each [row taps, column taps, C_source, block]. If fused, they are
        [row taps, C_source, column taps * C_target], since the targets of a row of taps are neighbours.
        """
        if self.fused:
            return self.weight.transpose(0, 2, 1, 3).reshape(-1)
        depth = self.weight.shape[3]
        return np.concatenate([self.weight[..., k : k + WIDEST].reshape(-1) for k in range(0, depth, WIDEST)])

    @property
    def fused(self) -> bool:
        """Whether there are so few target channels that a whole row of taps is added at once."""
        taps, depth = self.weight.shape[1], self.weight.shape[3]
        return self.groups == 1 and self.column_step == 1 and taps > 1 and depth < WIDEST and taps * depth <= FUSED

    @property
    def fan_out(self) -> NDArray[np.int64]:
        """Number of weights that one message touches, [H_source, W_source]."""
        return np.multiply.outer(self.row_spans[:, 2].astype(np.int64), self.column_spans[:, 2]) * self.weight.shape[3]


def dense_patches(weight: NDArray[np.int8], source: Shape) -> Patches:
    """Return the patches of a dense `weight` [N_target, N_source]; a source of shape (C, H, W) is flattened in that order."""
    by_source = weight.T
    if len(source) == 3:
        by_source = by_source[np.arange(weight.shape[1]).reshape(source).transpose(1, 2, 0).reshape(-1)]
    one = np.array([[0, 0, 1]], dtype=np.int32)
    return Patches(weight=np.ascontiguousarray(by_source[None, None]), row_spans=one, column_spans=one, width=1, channels=len(weight))


def convolution_patches(
    weight: NDArray[np.int8], source: Shape, target: Shape, *, stride: Pair, padding: Pair, groups: int, dilation: Pair = (1, 1)
) -> Patches:
    """Return the patches of `weight` [C_target, C_source / groups, kH, kW], as in torch's conv2d; `source` and `target` are (C, H, W)."""
    kernel = weight.shape[2:]
    row_order, rows = convolution_patch_spans(source[1], target[1], kernel[0], stride[0], padding[0], dilation[0])
    column_order, columns = convolution_patch_spans(source[2], target[2], kernel[1], stride[1], padding[1], dilation[1])
    depth = target[0] // groups
    grouped = weight.reshape(groups, depth, weight.shape[1], *kernel)  # [G, C_target / G, C_source / G, kH, kW]
    by_tap = grouped.transpose(3, 4, 0, 2, 1).reshape(*kernel, source[0], depth)
    return Patches(
        weight=np.ascontiguousarray(by_tap[row_order][:, column_order]),
        row_spans=rows,
        column_spans=columns,
        width=target[2],
        channels=target[0],
        groups=groups,
        row_step=patch_target_step(stride[0], dilation[0]),
        column_step=patch_target_step(stride[1], dilation[1]),
    )


def transposed_patches(weight: NDArray[np.int8], source: Shape, target: Shape, *, stride: Pair, padding: Pair) -> Patches:
    """Return the patches of `weight` [C_source, C_target, kH, kW], as in torch's conv_transpose2d; `source` and `target` are (C, H, W)."""
    rows, columns = (transposed_patch_spans(source[i], target[i], weight.shape[i + 1], stride[i - 1], padding[i - 1]) for i in (1, 2))
    by_tap = np.ascontiguousarray(weight.transpose(2, 3, 0, 1))
    return Patches(weight=by_tap, row_spans=rows, column_spans=columns, width=target[2], channels=target[0])


def convolution_patch_spans(
    source: int, target: int, kernel: int, stride: int, padding: int, dilation: int = 1
) -> tuple[list[int], NDArray[np.int32]]:
    """Return the order of the taps of a convolution's patches along one axis, and its spans.

    Tap k connects source i to target (i + padding - k dilation) / stride. The targets of i's taps are `patch_target_step` apart.
    """
    phases = [[k for k in reversed(range(kernel)) if k * dilation % stride == phase] for phase in range(stride)]
    order = [k for taps in phases for k in taps]  # as taps descend, their targets ascend
    begins = np.cumsum([0, *(len(taps) for taps in phases)])
    spans = np.zeros((source, 3), dtype=np.int32)
    for i in range(source):
        phase = (i + padding) % stride
        reaches = [(place, (i + padding - k * dilation) // stride) for place, k in enumerate(phases[phase])]
        hits = [(place, reach) for place, reach in reaches if 0 <= reach < target]
        if hits:
            spans[i] = (hits[0][1], begins[phase] + hits[0][0], len(hits))
    return order, spans


def patch_target_step(stride: int, dilation: int) -> int:
    """Return the distance between the targets of two consecutive taps of a patch."""
    return dilation // gcd(stride, dilation)


def transposed_patch_spans(source: int, target: int, kernel: int, stride: int, padding: int) -> NDArray[np.int32]:
    """Return the spans of a transposed convolution's patches along one axis. Tap k connects source i to target i * stride - padding + k."""
    spans = np.zeros((source, 3), dtype=np.int32)
    for i in range(source):
        taps = [k for k in range(kernel) if 0 <= i * stride - padding + k < target]
        if taps:
            spans[i] = (i * stride - padding + taps[0], taps[0], len(taps))
    return spans
