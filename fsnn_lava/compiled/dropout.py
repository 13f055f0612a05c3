"""Dropout masks from a counter-based random number generator: the same bits on every machine, on any number of threads."""

from __future__ import annotations

import numpy as np

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.vectors import Floats, Number

STEP, FIRST, SECOND = np.uint32(0x9E3779B9), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)  # the golden ratio and MurmurHash3's constants
FIRST_SHIFT, SECOND_SHIFT = np.uint32(16), np.uint32(13)


@compiled
def fill_mask(first: int, end: int, out: Floats, seed: np.uint32, other_seed: np.uint32, limit: np.uint32, value: Number) -> None:
    """Fill a dropout mask: out[i] <- value where the 32-bit hash of i and both seeds is below `limit`, else 0."""
    nothing, part, begin = value - value, out[first:end], np.uint32(first)
    for i in range(len(part)):
        number = _mix_bits(np.uint32((np.uint32(i) + begin) * STEP + seed))
        number = _mix_bits(np.uint32(number + other_seed))
        part[i] = value if number < limit else nothing


@compiled
def _mix_bits(number: np.uint32) -> np.uint32:
    """Mix bits with MurmurHash3's finaliser, so that every output bit depends on every input bit."""
    number = np.uint32((number ^ (number >> FIRST_SHIFT)) * FIRST)
    number = np.uint32((number ^ (number >> SECOND_SHIFT)) * SECOND)
    return np.uint32(number ^ (number >> FIRST_SHIFT))
