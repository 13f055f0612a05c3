"""Validation of every part of a ChipNetwork when it is created."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsInt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadNetwork


def require(condition: bool, message: str) -> None:
    """Raise BadNetwork with `message` unless `condition` holds."""
    if not condition:
        raise BadNetwork(message)


def checked_shape(value: Iterable[int], what: str) -> tuple[int, ...]:
    """Return a valid layer shape, (N,) or (C, H, W), of positive integers."""
    shape = tuple(int(n) for n in value)
    require(len(shape) in (1, 3), f"{what}: shape must be (N,) or (C, H, W), got {shape}")
    require(all(n > 0 for n in shape), f"{what}: every size must be positive, got {shape}")
    return shape


def checked_integers(value: ArrayLike, dtype: type, low: int, high: int, what: str) -> NDArray[Any]:
    """Return a private, read-only copy of valid integers, from `low` to `high`."""
    array = np.asarray(value)
    require(array.dtype.kind in "iu", f"{what}: must hold integers, got {array.dtype}")
    if array.size:
        lowest, highest = int(array.min()), int(array.max())
        require(low <= lowest and highest <= high, f"{what}: must be between {low} and {high}, got {lowest} … {highest}")
    array = np.array(array, dtype=dtype)  # a private, read-only copy
    array.setflags(write=False)
    return array


def checked_exponent(value: SupportsInt, what: str) -> int:
    """Return a valid exponent of a synapse."""
    exponent = int(value)
    allowed = limits.EXPONENT_RANGE
    require(exponent in allowed, f"{what}: exponent must be between {allowed[0]} and {allowed[-1]}, got {exponent}")
    return exponent


def checked_pair(value: Iterable[int], what: str) -> tuple[int, int]:
    """Return two valid integers: rows and columns."""
    pair = tuple(int(n) for n in value)
    require(len(pair) == 2, f"{what} must be two numbers, got {pair}")
    return pair[0], pair[1]


def checked_decay(value: SupportsInt, what: str) -> int:
    """Return a valid decay, in units of 1/4096."""
    decay = int(value)
    require(0 <= decay < limits.DECAY_UNIT, f"{what}: decay must be between 0 and {limits.DECAY_UNIT - 1} (1/4096), got {decay}")
    return decay


def checked_scale(value: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Return a valid, read-only array of positive finite scales."""
    scale = np.array(value, dtype=np.float64)
    require(scale.shape in ((), shape[:1]), f"{what}: scale must be one number or one per channel, got shape {scale.shape}")
    require(bool(np.all(np.isfinite(scale)) and np.all(scale > 0)), f"{what}: scale must be positive and finite")
    scale.setflags(write=False)
    return scale
