"""Every synapse as one form: a message at (y, x, c) adds a patch of weights to a block of targets, all arrays channels last.

For a convolution of stride s a message meets every s-th tap of the kernel. Taps are therefore reordered, for rows and columns
alike, so that those which meet stand side by side in the order of their targets: the patch is one block. Taps come first in the
weights, then the channels of the source: the weights of one tap are one piece of memory. A transposed convolution is a block
already; a dense synapse has one tap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ConvSynapse, Synapse, TransposedConvSynapse

Shape = tuple[int, ...]
WIDEST = 64  # target channels whose sums fit into registers
FUSED = 160  # numbers: a row of taps up to this long is added in one go


@dataclass(frozen=True, kw_only=True, eq=False)
class Patches:
    """What `scatter` needs to know about a synapse. Source and target are [H, W, C], flattened."""

    weight: NDArray[np.int8]  # [row taps, column taps, C_source, C_target / groups], in meeting order
    rows: NDArray[np.int32]  # [H_source, 3]: first target row, first tap, number of taps
    columns: NDArray[np.int32]  # [W_source, 3]
    width: int  # of the target
    channels: int  # of the target
    groups: int

    @property
    def blocks(self) -> NDArray[np.int8]:
        """The weights as `scatter` reads them, flattened.

        In blocks of WIDEST target channels (of one group), each [row taps, column taps, C_source, block]; fused: [row taps, C_source,
        column taps * C_target], since the targets of a row of taps are neighbours.
        """
        if self.fused:
            return self.weight.transpose(0, 2, 1, 3).reshape(-1)
        depth = self.weight.shape[3]
        return np.concatenate([self.weight[..., k : k + WIDEST].reshape(-1) for k in range(0, depth, WIDEST)])

    @property
    def fused(self) -> bool:
        """Are there so few target channels that a whole row of taps is added at once?"""
        taps, depth = self.weight.shape[1], self.weight.shape[3]
        return self.groups == 1 and taps > 1 and depth < WIDEST and taps * depth <= FUSED

    @property
    def touched(self) -> NDArray[np.int64]:
        """Weights that one message touches, [H_source, W_source]."""
        return np.multiply.outer(self.rows[:, 2].astype(np.int64), self.columns[:, 2]) * self.weight.shape[3]


def patches(synapse: Synapse, source: Shape, target: Shape) -> Patches:
    """The synapse's patches; `source` and `target` are the shapes of its ends in the network's order, (N,) or (C, H, W)."""
    weight = synapse.weight
    if isinstance(synapse, ConvSynapse):
        return _convolution(synapse, source, target)
    if isinstance(synapse, TransposedConvSynapse):
        rows, columns = (spread(source[i], target[i], weight.shape[i + 1], synapse.stride[i - 1], synapse.padding[i - 1]) for i in (1, 2))
        return Patches(weight=_last(weight, (2, 3, 0, 1)), rows=rows, columns=columns, width=target[2], channels=target[0], groups=1)
    if weight.ndim != 2:
        raise BadArgument(f"{synapse}: cannot lay out a {type(synapse).__name__}")
    order = np.arange(weight.shape[1]) if len(source) == 1 else np.arange(weight.shape[1]).reshape(source).transpose(1, 2, 0).reshape(-1)
    one = np.array([[0, 0, 1]], dtype=np.int32)
    return Patches(weight=_last(weight.T[order][None, None], (0, 1, 2, 3)), rows=one, columns=one, width=1, channels=target[0], groups=1)


def _convolution(synapse: ConvSynapse, source: Shape, target: Shape) -> Patches:
    row_order, rows = meeting(source[1], target[1], synapse.weight.shape[2], synapse.stride[0], synapse.padding[0])
    column_order, columns = meeting(source[2], target[2], synapse.weight.shape[3], synapse.stride[1], synapse.padding[1])
    outer = target[0] // synapse.groups
    inner = synapse.weight.shape[1]
    grouped = synapse.weight.reshape(synapse.groups, outer, inner, *synapse.weight.shape[2:])  # [G, O/G, I/G, kH, kW]
    by_tap = grouped.transpose(3, 4, 0, 2, 1).reshape(*synapse.weight.shape[2:], source[0], outer)
    weight = np.ascontiguousarray(by_tap[row_order][:, column_order])
    return Patches(weight=weight, rows=rows, columns=columns, width=target[2], channels=target[0], groups=synapse.groups)


def _last(weight: NDArray[np.int8], axes: tuple[int, ...]) -> NDArray[np.int8]:
    return np.ascontiguousarray(weight.transpose(axes))


def meeting(source: int, target: int, kernel: int, stride: int, padding: int) -> tuple[list[int], NDArray[np.int32]]:
    """Order of the taps along one axis, and per source position its block: tap k joins source i to target (i + padding - k) / stride."""
    order: list[int] = []
    begins = []
    for phase in range(stride):
        begins.append(len(order))
        order.extend(sorted(range(phase, kernel, stride), reverse=True))  # falling tap, rising target
    table = np.zeros((source, 3), dtype=np.int32)
    for i in range(source):
        taps = order[begins[(i + padding) % stride] :][: len(range((i + padding) % stride, kernel, stride))]
        hits = [(place, (i + padding - k) // stride) for place, k in enumerate(taps) if 0 <= (i + padding - k) // stride < target]
        if hits:
            table[i] = (hits[0][1], begins[(i + padding) % stride] + hits[0][0], len(hits))
    return order, table


def spread(source: int, target: int, kernel: int, stride: int, padding: int) -> NDArray[np.int32]:
    """Per source position its block along one axis: tap k joins source i to target i * stride - padding + k."""
    table = np.zeros((source, 3), dtype=np.int32)
    for i in range(source):
        taps = [k for k in range(kernel) if 0 <= i * stride - padding + k < target]
        if taps:
            table[i] = (i * stride - padding + taps[0], taps[0], len(taps))
    return table
