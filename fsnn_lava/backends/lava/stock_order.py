"""Convert between the axis order of Lava's own (stock) processes, (W, H, C), and the network's, (C, H, W)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]


def to_stock_order(values: NDArray[Any]) -> NDArray[Any]:
    """Reorder [C, H, W] to the axis order of stock processes, (W, H, C); (N,) is unchanged."""
    return values if values.ndim == 1 else np.ascontiguousarray(values.transpose(2, 1, 0))


def from_stock_order(values: NDArray[Any]) -> NDArray[Any]:
    """Reorder [..., W, H, C] of a stock process to [..., C, H, W]: the inverse of `to_stock_order`."""
    return np.moveaxis(values, (-3, -1), (-1, -3))


def stock_shape(shape: Shape) -> Shape:
    """Return the shape of a stock process's port, (W, H, C), for (C, H, W)."""
    return shape[::-1]


def stock_index(shape: Shape) -> NDArray[np.int64]:
    """Return, for each neuron of a flattened stock process, its index in the network's order, [n]."""
    index = np.arange(int(np.prod(shape)))
    return index.reshape(shape).transpose().reshape(-1)
