"""How much of a core's memory a tile of a layer uses: a model of the Loihi 2 compiler's table (see boards/loihi2.toml).

Assumptions, besides the numbers of the board file:
- a core holds a tile of one layer: its neurons and every synapse that ends on them;
- Conv: one list of weights per (input channel, kernel tap), shared by all pixels of the tile; one in-axon per connection;
- Dense and Sparse: one list and one in-axon per source neuron that reaches the tile; zeros of a Dense are stored;
- AxonMap: one entry per pixel where the target is a convolution, per neuron where it is dense or sparse;
- AxonMem: one entry per pixel and group of target channels for convolutions, none for dense targets (as the public tables show);
- a transposed convolution is stored as Sparse, or removed by packing the network (space-to-depth), whichever the stock graph uses;
- static input is written as a bias once per sample and takes no synapse; event input does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Literal

import numpy as np

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse
from fsnn_lava.placement.board import Board

Form = Literal["dense", "conv", "sparse"]
Shape3 = tuple[int, int, int]


def spatial_shape(shape: tuple[int, ...]) -> Shape3:
    """Return a shape as (C, H, W) for the memory model of a core; (N,) is N channels of one pixel."""
    return (shape[0], 1, 1) if len(shape) == 1 else (shape[0], shape[1], shape[2])


def weight_memory_bits(weight: np.ndarray) -> int:
    """Return the bits of memory per weight: those of the smallest signed integer that holds every weight."""
    largest = int(np.abs(weight.astype(np.int16)).max()) if weight.size else 0
    return max(2, largest.bit_length() + 1)


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """What one core uses, in the columns of the table; synapses, maps and totals are in words."""

    axon_in: int = 0
    neurons: int = 0
    synapses: int = 0
    axon_map: int = 0
    axon_mem: int = 0
    neuron_words: int = 1

    @property
    def total(self) -> int:
        """Words of memory that all columns use together."""
        return self.axon_in + self.neurons * self.neuron_words + self.synapses + self.axon_map + self.axon_mem

    def columns(self) -> dict[str, int]:
        """Return the use of every resource of a core, in the order of the table's columns."""
        return {
            "AxonIn": self.axon_in,
            "Neurons": self.neurons,
            "Synapses": self.synapses,
            "AxonMap": self.axon_map,
            "AxonMem": self.axon_mem,
            "Total": self.total,
        }

    def shares(self, board: Board) -> dict[str, float]:
        """Return every column as a share of the core's capacity; above 1, it does not fit."""
        return {name: value / board.core_limits[name] for name, value in self.columns().items()}

    def fits(self, board: Board) -> bool:
        """Return whether it fits on one core."""
        return all(share <= 1.0 for share in self.shares(board).values())

    def tightest(self, board: Board) -> str:
        """Return the core resource with the largest share in use."""
        shares = self.shares(board)
        return max(shares, key=lambda name: shares[name])


@dataclass(frozen=True, kw_only=True)
class ConnectionMemory:
    """A connection in the memory model: shapes, bits and form, without weights."""

    source: str
    source_shape: Shape3
    form: Form
    bits: int
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    groups: int = 1
    dilation: tuple[int, int] = (1, 1)

    def with_bits(self, bits: int) -> ConnectionMemory:
        """Return the same connection with weights of at most `bits` bits."""
        return replace(self, bits=min(bits, self.bits))

    def reach(self, tile: Shape3, target: Shape3) -> int:
        """Return an upper bound on the number of source neurons connected to a tile of the target; borders are not subtracted."""
        channels, rows, columns = self.source_shape
        if self.form == "dense":
            return prod(self.source_shape)
        if self.form == "conv":
            sides = zip(tile[1:], self.stride, self.kernel, self.dilation, strict=True)
            spread = [(n - 1) * s + d * (k - 1) + 1 for n, s, k, d in sides]
        else:
            spread = [ceil((n + k - 1) / s) for n, s, k in zip(tile[1:], self.stride, self.kernel, strict=True)]
        groups = ceil(tile[0] * self.groups / target[0])
        return channels * groups // self.groups * min(rows, spread[0]) * min(columns, spread[1])

    def use(self, tile: Shape3, target: Shape3, board: Board) -> MemoryUse:
        """Return the number of in-axons and of synapse words on a core that holds `tile` [c, h, w] of a target layer [C, H, W]."""
        if self.form == "dense":
            sources = prod(self.source_shape)
            return MemoryUse(axon_in=sources, synapses=sources * _dense_words(tile[0], self.bits, board))
        if self.form == "sparse":
            return self._sparse(tile, target, board)
        groups = ceil(tile[0] * self.groups / target[0])  # groups of the convolution that this tile overlaps
        lists = self.source_shape[0] // self.groups * groups * prod(self.kernel)
        per_list = ceil(tile[0] / groups)
        return MemoryUse(axon_in=1, synapses=lists * ceil((board.conv_header_bits + per_list * self.bits) / board.conv_word_bits))

    def _sparse(self, tile: Shape3, target: Shape3, board: Board) -> MemoryUse:
        sources = self.reach(tile, target)
        pairs = [
            _pairs(n, m, k, s, p)
            for n, m, k, s, p in zip(self.source_shape[1:], target[1:], self.kernel, self.stride, self.padding, strict=True)
        ]
        share = (tile[1] / target[1]) * (tile[2] / target[2])
        entries = self.source_shape[0] * tile[0] * pairs[0] * pairs[1] * share
        return MemoryUse(axon_in=sources, synapses=sources * _dense_words(ceil(entries / sources), self.bits, board))


def _dense_words(weights: int, bits: int, board: Board) -> int:
    return ceil((board.dense_header_bits + weights * bits) / board.dense_word_bits)


def _pairs(sources: int, targets: int, kernel: int, stride: int, padding: int) -> int:
    """Return the number of (source, tap) pairs of a transposed convolution that fall inside the target, along one axis."""
    return sum(0 <= stride * i - padding + k < targets for i in range(sources) for k in range(kernel))


def connection_memory(synapse: Synapse, source_shape: tuple[int, ...]) -> ConnectionMemory:
    """Return the memory model of a synapse; a transposed convolution counts as Sparse (space_to_depth is the alternative)."""
    shape, bits = spatial_shape(source_shape), weight_memory_bits(synapse.weight)
    if isinstance(synapse, DenseSynapse):
        return ConnectionMemory(source=synapse.source, source_shape=shape, bits=bits, form="dense")
    kernel = (int(synapse.weight.shape[2]), int(synapse.weight.shape[3]))
    if not isinstance(synapse, ConvSynapse | TransposedConvSynapse):
        raise BadArgument(f"{synapse}: no memory model for {type(synapse).__name__}")
    return ConnectionMemory(
        source=synapse.source,
        source_shape=shape,
        bits=bits,
        form="conv" if isinstance(synapse, ConvSynapse) else "sparse",
        kernel=kernel,
        stride=synapse.stride,
        padding=synapse.padding,
        groups=synapse.groups if isinstance(synapse, ConvSynapse) else 1,
        dilation=synapse.dilation if isinstance(synapse, ConvSynapse) else (1, 1),
    )
