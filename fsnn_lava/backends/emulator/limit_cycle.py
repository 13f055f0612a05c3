"""Find limit cycles in a run with delta encoding: rates that repeat forever."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def limit_cycles(hashes: NDArray[np.uint64], messages: NDArray[np.int32], *, longest_delay: int) -> NDArray[np.int32]:
    """Return, per sample, the period of the limit cycle at the end of a run with delta encoding, [B]; 0 if it is silent or not periodic.

    The next step of a network with a static input depends only on the rates of the last `longest_delay` + 1 steps, so if that many steps
    repeat, they form a cycle. Rates count as equal if their 64-bit `hashes` [B, T] are: sums of rates times `hash_keys`, modulo 2**64.
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
    """Return pseudo-random odd numbers, [neurons], for hashing rates so that two different vectors rarely have the same hash."""
    mixed = np.arange(1, neurons + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for bits, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finaliser of SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(bits))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)
