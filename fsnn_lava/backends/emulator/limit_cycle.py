"""Limit cycles of a run with delta encoding: rates that repeat without end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def limit_cycles(hashes: NDArray[np.uint64], messages: NDArray[np.int32], *, longest_delay: int) -> NDArray[np.int32]:
    """[B] with delta encoding: the shortest period with which the rates repeat at the end of a run; 0 if silent or not periodic.

    The next step of a network depends on the rates of the last `longest_delay` + 1 steps, so that many equal ones make a cycle. Rates are
    taken as equal if their 64-bit hashes are.
    """
    samples, steps = hashes.shape
    periods = np.zeros(samples, np.int32)
    window = longest_delay + 1
    for period in range(steps - window, 0, -1):
        same = np.all(hashes[:, steps - window :] == hashes[:, steps - window - period : steps - period], axis=1)
        moving = messages[:, steps - period :].any(axis=1)
        periods[same & moving] = period
    return periods
