"""The axis order of Lava's own (stock) processes, (W, H, C), from the network's, (C, H, W), and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]


def to_stock_order(values: NDArray[Any]) -> NDArray[Any]:
    """[C, H, W] in the axis order of stock processes, (W, H, C); (N,) unchanged."""
    return values if values.ndim == 1 else np.ascontiguousarray(values.transpose(2, 1, 0))


def from_stock_order(values: NDArray[Any]) -> NDArray[Any]:
    """[..., C, H, W] from [..., W, H, C] of a stock process: the inverse of `to_stock_order`."""
    return np.moveaxis(values, (-3, -1), (-1, -3))


def stock_shape(shape: Shape) -> Shape:
    """The shape of a stock process's port, (W, H, C), from (C, H, W)."""
    return shape[::-1]


def stock_index(shape: Shape) -> NDArray[np.int64]:
    """[n] index in the network's order of each neuron of a flattened stock process."""
    index = np.arange(int(np.prod(shape)))
    return index.reshape(shape).transpose().reshape(-1)
