"""A guaranteed upper bound on an operator's norm that is cheap to maintain while its weight changes slowly."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from fsnn_lava.nn.operators import Operator

DRIFT = 0.02  # relative drift beyond which the bound is computed again


class TrackedNorm:
    """Bounds ||W|| by the bound of an earlier weight V plus ||W - V||, which is at most the sum of the Frobenius norms of the taps."""

    def __init__(self) -> None:
        self._weight: np.ndarray | None = None
        self._bound = 0.0

    def bound(self, operator: Operator, weight: Tensor) -> float:
        """Return an upper bound on ||W||, at most 1 + DRIFT times as large as `Operator.norm_bound`."""
        now = weight.detach().cpu().double().numpy()
        if self._weight is not None and self._weight.shape == now.shape:
            drift = _sum_of_taps(now - self._weight)
            if drift <= DRIFT / 2 * self._bound:
                return self._bound + drift
        self._weight, self._bound = now.copy(), operator.norm_bound(now)
        return self._bound


def _sum_of_taps(weight: np.ndarray) -> float:
    """Return the sum of the taps' Frobenius norms: each tap shifts the image and mixes its channels, so its norm is that of a matrix."""
    return float(np.sqrt(np.square(weight).sum(axis=(0, 1))).sum())
