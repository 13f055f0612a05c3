"""The layout of a network's connections for the event-driven simulation: tables for each shape, and weights in the order of use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
import torch.nn.functional as nnf
from torch import Tensor

from fsnn_lava.compiled.float_run import FORM_START, LAYER_COLUMNS, NO_DRIVE
from fsnn_lava.compiled.patches import WIDEST, convolution_patch_spans, patch_target_step, transposed_patch_spans
from fsnn_lava.compiled.row_sums import BLOCK
from fsnn_lava.compiled.scatter import FORM
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.dynamics import Dynamics
from fsnn_lava.nn.operators import Convolution, Dense, Operator, Shape, TransposedConvolution

ONE_PLACE = np.array([[0, 0, 1]], dtype=np.int32)  # rows and columns of a dense connection
TOGETHER = 64  # samples that are stepped together if all connections are dense
CONVOLVED_TOGETHER = 2  # samples stepped together if one is not dense and there are MANY_WEIGHTS: 10 % faster than 8 for AlexNet-F
MANY_WEIGHTS = 2**18  # more than the cache of one core holds


class ConnectionLayout:
    """The layout of one connection: which targets each source position reaches, and its weight in that order.

    `in_blocks` (dense only): the weight as `add_row_sums_by_block` reads it.
    """

    def __init__(self, operator: Operator, *, in_blocks: bool = False) -> None:
        self.operator, self.in_blocks = operator, in_blocks
        source, target, groups, steps = operator.in_shape, operator.out_shape, 1, (1, 1)
        if isinstance(operator, Dense):
            self.rows = self.columns = ONE_PLACE
            channels, taps, width = prod(source), (1, 1), 1
        elif isinstance(operator, Convolution):
            axes = zip(source[1:], target[1:], operator.kernel, operator.stride, operator.padding, operator.dilation, strict=True)
            steps = patch_target_step(operator.stride[0], operator.dilation[0]), patch_target_step(operator.stride[1], operator.dilation[1])
            (self.row_order, self.rows), (self.column_order, self.columns) = (convolution_patch_spans(*axis) for axis in axes)
            channels, taps, width, groups = source[0], operator.kernel, target[2], operator.groups
        elif isinstance(operator, TransposedConvolution):
            axes = zip(source[1:], target[1:], operator.kernel, operator.stride, operator.padding, strict=True)
            self.rows, self.columns = (transposed_patch_spans(*axis) for axis in axes)
            self.row_order, self.column_order = (list(range(taps)) for taps in operator.kernel)
            channels, taps, width = source[0], operator.kernel, target[2]
        else:
            raise BadArgument(f"events: cannot lay out a {type(operator).__name__}; simulate with events=False")
        whole_rows = isinstance(operator, Dense)  # all weights of a spike are contiguous, however many there are
        self.depth = target[0] // groups  # weights of a spike at one position of the target
        self.form = np.array([channels, len(self.columns), *taps, width, target[0], groups, whole_rows, *steps], dtype=np.int64)

    @property
    def products(self) -> int:
        """Number of weights that are used in an event-driven step in which every source fires."""
        return int(self.rows[:, 2].sum()) * int(self.columns[:, 2].sum()) * int(self.form[0]) * self.depth

    @property
    def stored_weights(self) -> int:
        """Number of weights in the event layout, as `ordered` returns them."""
        padded = -(-self.depth // BLOCK) * BLOCK if self.in_blocks else self.depth
        return int(np.prod(self.form[[0, 2, 3]])) * padded

    def ordered(self, weight: Tensor) -> Tensor:
        """Return the weight flattened: blocks of target channels, each [row taps, column taps, source, block]; dense: [source, target]."""
        out = weight.new_empty(self.stored_weights)
        self.write_ordered(weight, out)
        return out

    def write_ordered(self, weight: Tensor, out: Tensor) -> None:
        """Write what `ordered` returns to `out`; the weights of a convolution without groups, often millions, are copied once."""
        if isinstance(self.operator, Dense):
            self._write_dense(weight, out)
            return
        by_tap = self._by_tap(weight)
        rows, columns, sources, depth = by_tap.shape
        for k in range(0, depth, WIDEST):
            block = min(WIDEST, depth - k)
            start = k * rows * columns * sources
            tapped = out[start : start + block * rows * columns * sources].view(rows, columns, sources, block)
            for i in range(rows):
                for j in range(columns):
                    tapped[i, j].copy_(by_tap[self.row_order[i], self.column_order[j], :, k : k + block])

    def _write_dense(self, weight: Tensor, out: Tensor) -> None:
        by_source = weight.t()
        if len(self.operator.in_shape) == 3:  # the source's neurons are numbered channels last
            by_source = by_source.reshape(*self.operator.in_shape, -1).permute(1, 2, 0, 3).flatten(0, 2)
        if self.in_blocks:
            padding = -by_source.shape[-1] % BLOCK
            filled = nnf.pad(by_source, (0, padding)) if padding else by_source
            out.view(-1, len(filled), BLOCK).copy_(filled.unflatten(1, (-1, BLOCK)).transpose(0, 1))
        else:
            out.view(by_source.shape).copy_(by_source)

    def _by_tap(self, weight: Tensor) -> Tensor:
        """Return the weight of a convolution as [row taps, column taps, source, target channels], with the kernel's order of taps."""
        if isinstance(self.operator, Convolution):
            by_group = weight.unflatten(0, (-1, self.depth))  # [groups, depth, C_in / groups, kH, kW]
            return by_group.permute(3, 4, 0, 2, 1).flatten(2, 3)
        return weight.permute(2, 3, 0, 1)


@dataclass(frozen=True)
class WireShape:
    """What the layout of a wire depends on: where it starts and ends, its delay, and its operator."""

    source: int
    target: int
    delay: int
    operator: Operator


class NetworkLayout:
    """Layers and the wires between them, laid out for the compiled run. `driven` says which layers have a drive from outside."""

    def __init__(self, shapes: tuple[Shape, ...], wires: Sequence[WireShape], driven: tuple[bool, ...]) -> None:
        self.shapes, self.driven = shapes, driven
        self.sizes = [prod(shape) for shape in shapes]
        self.offsets = [int(n) for n in np.cumsum([0, *self.sizes])]
        self.delay = max([wire.delay for wire in wires], default=0)
        dense = all(isinstance(wire.operator, Dense) for wire in wires)
        self.in_blocks = dense
        self.connections = [ConnectionLayout(wire.operator, in_blocks=dense) for wire in wires]
        weights = sum(one.stored_weights for one in self.connections)
        self.together = TOGETHER if dense else CONVOLVED_TOGETHER if weights > MANY_WEIGHTS else 1
        # before the choice between events and dense products, so that many weights are not read for one sample, on one thread
        self.least_probe = 2 * CONVOLVED_TOGETHER if self.together == CONVOLVED_TOGETHER else 1
        pieces = [table for one in self.connections for table in (one.rows, one.columns)]
        self.tables = np.concatenate(pieces) if pieces else ONE_PLACE
        self.products = [0] * len(shapes)  # by source
        for wire, connection in zip(wires, self.connections, strict=True):
            self.products[wire.source] += connection.products
        self.masks = [int(n) for n in np.cumsum([0, *(self.sizes[wire.target] for wire in wires)])]
        self.layers, self.wires = self._layer_table(wires), self._wire_table(wires)

    def _layer_table(self, wires: Sequence[WireShape]) -> np.ndarray:
        """Return a table with one row per layer, in the columns that compiled.float_run names."""
        table = np.zeros((len(self.shapes), LAYER_COLUMNS), dtype=np.int64)
        targets = [wire.target for wire in wires]  # ascending
        column = 0
        for i, size in enumerate(self.sizes):
            first = sum(target < i for target in targets)
            table[i] = (self.offsets[i], size, first, first + targets.count(i), column if self.driven[i] else NO_DRIVE)
            column += size if self.driven[i] else 0
        return table

    def _wire_table(self, wires: Sequence[WireShape]) -> np.ndarray:
        """Return a table with one row per wire, in the columns that compiled.float_run names."""
        table = np.zeros((len(wires), FORM_START + len(FORM)), dtype=np.int64)
        rows = weights = 0
        for i, (wire, connection) in enumerate(zip(wires, self.connections, strict=True)):
            columns = rows + len(connection.rows)
            end, weights_end = columns + len(connection.columns), weights + connection.stored_weights
            table[i, :FORM_START] = (wire.source, wire.delay, self.masks[i], weights, weights_end, rows, columns, columns, end)
            table[i, FORM_START:] = connection.form
            rows, weights = end, weights_end
        return table

    def activity(self, rates: Sequence[float]) -> float:
        """Return the share of all products that are needed at these mean rates of the layers (spikes per neuron and step)."""
        return sum(rate * number for rate, number in zip(rates, self.products, strict=True)) / max(sum(self.products), 1)


@lru_cache(maxsize=16)
def network_layout(shapes: tuple[Shape, ...], wires: tuple[WireShape, ...], driven: tuple[bool, ...]) -> NetworkLayout:
    """Return the event-driven layout for these shapes; it is created only once."""
    return NetworkLayout(shapes, wires, driven)


def event_layout(dynamics: Dynamics) -> NetworkLayout:
    """Return the event layout of a network."""
    wires = tuple(WireShape(wire.source, wire.target, wire.delay, wire.current.operator) for wire in dynamics.wires)
    return network_layout(dynamics.shapes, wires, tuple(drive is not None for drive in dynamics.drives))
