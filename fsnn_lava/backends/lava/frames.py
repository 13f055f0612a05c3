"""How a layer with delta encoding sums the frames of an event input (E15)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Frames:
    """Weights of the frames: frame tau counts `weights[tau - 1]` times, and the sum is shifted when it is read."""

    weights: NDArray[np.int64]  # [T]
    shift: int
