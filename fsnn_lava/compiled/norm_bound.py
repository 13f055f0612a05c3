"""The largest eigenvalue that Lanczos's method can have missed, for every row of a batch (E18)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsnn_lava.compiled.compiler import compiled

_DOUBLINGS = 200
_HALVINGS = 32  # halvings of the interval that contains the bound; its upper end is always excluded
_TINY = np.finfo(np.float64).tiny


@compiled
def hidden_eigenvalues(lowest: Any, diagonal: Any, beside: Any, steps: int, most: float, out: Any) -> None:
    """Set out[b] >= lowest[b] so that no larger eigenvalue can have a component of 1/sqrt(`most`) or more in the start vector.

    `diagonal` and `beside` [B, >= steps] are Lanczos's tridiagonal matrices, `lowest` their largest eigenvalues.
    """
    for b in range(len(lowest)):
        low, high = lowest[b], max(lowest[b], 1e-300)
        for _ in range(_DOUBLINGS):
            if _excluded(high, diagonal[b], beside[b], steps, most):
                break
            high *= 2.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            if _excluded(middle, diagonal[b], beside[b], steps, most):
                high = middle
            else:
                low = middle
        out[b] = high


@compiled
def _excluded(value: float, diagonal: Any, beside: Any, steps: int, most: float) -> bool:
    """Return whether the sum of p_j(value)**2 exceeds `most`; p_j are the orthonormal polynomials of the start vector's spectral measure.

    Above the largest Ritz value they grow; a sum that is not finite counts as larger than any number.
    """
    before, now, total = 0.0, 1.0, 1.0
    for j in range(steps):
        left = beside[j - 1] * before if j > 0 else 0.0
        after = ((value - diagonal[j]) * now - left) / max(beside[j], _TINY)
        total += after * after
        if not total <= most:
            return True
        before, now = now, after
    return False
