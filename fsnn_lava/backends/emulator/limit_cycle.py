"""Limit cycles of a run with delta encoding: rates that repeat without end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def limit_cycles(hashes: NDArray[np.uint64], messages: NDArray[np.int32], *, longest_delay: int) -> NDArray[np.int32]:
    """[B] with delta encoding: the shortest period with which the rates repeat at the end of a run; 0 if silent or not periodic.

    The next step of a network with a static input depends on the rates of the last `longest_delay` + 1 steps, so that many equal ones make
    a cycle. Rates are taken as equal if their 64-bit `hashes` [B, T] are: sums of rates times `hash_keys`, modulo 2**64.
    """
    samples, steps = hashes.shape
    periods = np.zeros(samples, np.int32)
    window = longest_delay + 1
    for period in range(steps - window, 0, -1):
        same = np.all(hashes[:, steps - window :] == hashes[:, steps - window - period : steps - period], axis=1)
        moving = messages[:, steps - period :].any(axis=1)
        periods[same & moving] = period
    return periods


def hash_keys(neurons: int) -> NDArray[np.uint64]:
    """[neurons] odd numbers that look random, so that two vectors of rates rarely have the same sum of products with them."""
    mixed = np.arange(1, neurons + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for bits, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finaliser of SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(bits))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)
