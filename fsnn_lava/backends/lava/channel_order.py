"""Neurons are in (H, W, C) order inside our processes and in (C, H, W) order everywhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]


def channels_last_order(shape: Shape) -> NDArray[np.int64]:
    """[n] index in the network's order, channels first, of each neuron in a process's order, channels last."""
    index = np.arange(int(np.prod(shape)))
    return index if len(shape) == 1 else index.reshape(shape).transpose(1, 2, 0).reshape(-1)


def channels_last(values: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """[..., n] in a process's channel order from [..., *shape]."""
    lead = values.shape[: values.ndim - len(shape)]
    return values.reshape(*lead, -1)[..., channels_last_order(shape)]


def channels_first(values: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """[..., *shape] from [..., n] in a process's channel order: the inverse of `channels_last`; always a copy."""
    if len(shape) == 1:
        return values.copy()
    lead = values.shape[:-1]
    moved = values.reshape(*lead, shape[1], shape[2], shape[0])
    return np.array(np.moveaxis(moved, -1, len(lead)), order="C")
