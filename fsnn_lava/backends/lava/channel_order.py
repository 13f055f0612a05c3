"""Convert between channel orders: neurons are in (H, W, C) order inside our processes and in (C, H, W) order everywhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]


def channels_last_order(shape: Shape) -> NDArray[np.int64]:
    """Return, for each neuron of a process in channels-last order, its channels-first index in the network's order, [n]."""
    index = np.arange(int(np.prod(shape)))
    return index if len(shape) == 1 else index.reshape(shape).transpose(1, 2, 0).reshape(-1)


def channels_last(values: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """Reorder [..., *shape] to a process's channel order, [..., n]."""
    lead = values.shape[: values.ndim - len(shape)]
    return values.reshape(*lead, -1)[..., channels_last_order(shape)]


def channels_first(values: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """Reorder [..., n] from a process's channel order to [..., *shape]: the inverse of `channels_last`; always a copy."""
    if len(shape) == 1:
        return values.copy()
    lead = values.shape[:-1]
    moved = values.reshape(*lead, shape[1], shape[2], shape[0])
    return np.array(np.moveaxis(moved, -1, len(lead)), order="C")
