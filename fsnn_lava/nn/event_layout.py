"""The layout of a network's connections for the event-driven simulation: tables for each shape, and weights in the order of their use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor

from fsnn_lava.compiled.float_run import FORM_START, NO_SOURCE, SOURCE
from fsnn_lava.compiled.patches import WIDEST, convolution_spans, transposed_spans
from fsnn_lava.compiled.row_sums import BLOCK
from fsnn_lava.compiled.scatter import FORM
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.operators import Convolution, Dense, Operator, Shape, TransposedConvolution

ONE_PLACE = np.array([[0, 0, 1]], dtype=np.int32)  # rows and columns of a dense connection
TOGETHER = 64  # samples that are stepped together if all connections are dense


class ConnectionLayout:
    """One connection: which targets each source position reaches, and its weight in that order.

    `in_blocks` (dense only): the weight as `add_blocks` reads it.
    """

    def __init__(self, operator: Operator, *, in_blocks: bool = False) -> None:
        self.operator, self.in_blocks = operator, in_blocks
        source, target = operator.in_shape, operator.out_shape
        if isinstance(operator, Dense):
            self.rows = self.columns = ONE_PLACE
            channels, taps, width = prod(source), (1, 1), 1
        elif isinstance(operator, Convolution):
            axes = zip(source[1:], target[1:], operator.kernel, operator.stride, operator.padding, strict=True)
            (self.row_order, self.rows), (self.column_order, self.columns) = (convolution_spans(*axis) for axis in axes)
            channels, taps, width = source[0], operator.kernel, target[2]
        elif isinstance(operator, TransposedConvolution):
            axes = zip(source[1:], target[1:], operator.kernel, operator.stride, operator.padding, strict=True)
            self.rows, self.columns = (transposed_spans(*axis) for axis in axes)
            channels, taps, width = source[0], operator.kernel, target[2]
        else:
            raise BadArgument(f"events: cannot lay out a {type(operator).__name__}; simulate with events=False")
        whole_rows = isinstance(operator, Dense)  # all weights of a spike are contiguous
        self.form = np.array([channels, len(self.columns), *taps, width, target[0], 1, whole_rows], dtype=np.int64)

    @property
    def products(self) -> int:
        """Weights that are used in a step in which every source fires."""
        return int(self.rows[:, 2].sum()) * int(self.columns[:, 2].sum()) * int(self.form[0]) * self.operator.out_shape[0]

    @property
    def stored_weights(self) -> int:
        """Number of weights that `ordered` returns."""
        targets = self.operator.out_shape[0]
        padded = -(-targets // BLOCK) * BLOCK if self.in_blocks else targets
        return int(np.prod(self.form[[0, 2, 3]])) * padded

    def ordered(self, weight: Tensor) -> Tensor:
        """The weight in blocks of target channels, each [row taps, column taps, source, block], flattened; dense: [source, target]."""
        by_tap = self._by_tap(weight)
        if self.in_blocks:
            padding = -by_tap.shape[-1] % BLOCK
            filled = nnf.pad(by_tap[0, 0], (0, padding)) if padding else by_tap[0, 0]
            return filled.unflatten(1, (-1, BLOCK)).transpose(0, 1).reshape(-1)
        if isinstance(self.operator, Dense):
            return by_tap.reshape(-1)
        return torch.cat([by_tap[..., k : k + WIDEST].reshape(-1) for k in range(0, by_tap.shape[-1], WIDEST)])

    def _by_tap(self, weight: Tensor) -> Tensor:
        """[row taps, column taps, source, target channels]."""
        if isinstance(self.operator, Dense):
            by_source = weight.t()
            if len(self.operator.in_shape) == 3:  # the source's spikes are numbered channels last
                by_source = by_source.reshape(*self.operator.in_shape, -1).permute(1, 2, 0, 3).flatten(0, 2)
            return by_source[None, None]
        if isinstance(self.operator, Convolution):
            return weight.permute(2, 3, 1, 0)[self.row_order][:, self.column_order]
        return weight.permute(2, 3, 0, 1)


class NetworkLayout:
    """A chain of layers with at most one loop from the last to the first, laid out for the compiled run."""

    def __init__(self, shapes: tuple[Shape, ...], forward: Sequence[Operator], feedback: Operator | None, *, delay: int) -> None:
        self.shapes, self.delay = shapes, delay
        self.sizes = [prod(shape) for shape in shapes]
        self.offsets = [int(n) for n in np.cumsum([0, *self.sizes])]
        dense = all(isinstance(operator, Dense) for operator in (*forward, *([feedback] if feedback else [])))
        self.together = TOGETHER if dense else 1
        self.connections = [None if one is None else ConnectionLayout(one, in_blocks=dense) for one in (feedback, *forward)]  # by target
        pieces = [table for one in self.connections if one for table in (one.rows, one.columns)]
        self.tables = np.concatenate(pieces) if pieces else ONE_PLACE
        self.products = [0 if one is None else one.products for one in (*self.connections[1:], self.connections[0])]  # by source
        self.layers = self._table()

    def _table(self) -> np.ndarray:
        """One row per layer, in the columns that compiled.float_run names."""
        table = np.zeros((len(self.shapes), FORM_START + len(FORM)), dtype=np.int64)
        rows = weights = 0
        for i, connection in enumerate(self.connections):
            table[i, :FORM_START] = (self.offsets[i], self.sizes[i], NO_SOURCE, 0, 0, 0, 0, 0, 0, 0)
            if connection is None:
                continue
            source, delay = (len(self.sizes) - 1, self.delay) if i == 0 else (i - 1, 0)
            columns = rows + len(connection.rows)
            end, weights_end = columns + len(connection.columns), weights + connection.stored_weights
            table[i, SOURCE:FORM_START] = (source, delay, weights, weights_end, rows, columns, columns, end)
            table[i, FORM_START:] = connection.form
            rows, weights = end, weights_end
        return table

    def activity(self, rates: Sequence[float]) -> float:
        """The share of all products that are needed at these mean rates (spikes per neuron and step) of each layer."""
        return sum(rate * number for rate, number in zip(rates, self.products, strict=True)) / max(sum(self.products), 1)


@lru_cache(maxsize=16)
def network_layout(shapes: tuple[Shape, ...], forward: tuple[Operator, ...], feedback: Operator | None, delay: int) -> NetworkLayout:
    """The layout for these shapes, created once."""
    return NetworkLayout(shapes, forward, feedback, delay=delay)
