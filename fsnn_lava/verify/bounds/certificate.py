"""The contraction certificate (E6, E11): gains between layers, their spectral radius, and the distances that residuals allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.rate_map import RateMap


class Certificate:
    """A certificate from the gains M between layers (E11): the network is certified if their spectral radius is below 1."""

    def __init__(self, rate_map: RateMap) -> None:
        self.gains = rate_map.gains()
        self.radius = float(np.abs(np.linalg.eigvals(self.gains)).max())
        self.certified = self.radius < 1.0

    def amplification(self) -> NDArray[np.float64]:
        """Return (1 - M)**-1, from residuals to distances by layer; valid only if `certified`. Rounding cannot make an entry negative."""
        return np.maximum(np.linalg.inv(np.eye(len(self.gains)) - self.gains), 0.0)

    def distance_bound(self, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest Euclidean distance per layer that residuals [N, B] allow, [N, B], with a margin for float64 rounding."""
        return self.amplification() @ residuals * (1 + 1e-9) + 1e-12
