"""A guaranteed upper bound of an operator's norm that is cheap to keep while its weight changes a little at a time."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from fsnn_lava.nn.operators import Operator

DRIFT = 0.02  # of the bound; beyond that it is computed anew


class TrackedNorm:
    """||W|| <= (bound of an earlier weight V) + ||W - V||: the second is at most the sum over the taps of their Frobenius norms."""

    def __init__(self) -> None:
        self._weight: np.ndarray | None = None
        self._bound = 0.0

    def bound(self, operator: Operator, weight: Tensor) -> float:
        """An upper bound of ||W||, at most 1 + DRIFT times as large as `Operator.norm_bound`."""
        now = weight.detach().cpu().double().numpy()
        if self._weight is not None and self._weight.shape == now.shape:
            drift = _sum_of_taps(now - self._weight)
            if drift <= DRIFT / 2 * self._bound:
                return self._bound + drift
        self._weight, self._bound = now.copy(), operator.norm_bound(now)
        return self._bound


def _sum_of_taps(weight: np.ndarray) -> float:
    """Each tap moves the image and mixes its channels: its norm is that of a matrix, at most its Frobenius norm."""
    return float(np.sqrt(np.square(weight).sum(axis=(0, 1))).sum())
