"""The 95 % Wilson interval of a proportion."""

from __future__ import annotations

from math import sqrt

_Z = 1.959963984540054  # 95 %


def wilson_interval(right: int, total: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a proportion (docs/equations.md, Intervals)."""
    if total == 0:
        return 0.0, 1.0
    share, z2 = right / total, _Z * _Z / total
    middle = share + z2 / 2
    half = sqrt(share * (1 - share) * z2 + z2 * z2 / 4)
    return max(0.0, (middle - half) / (1 + z2)), min(1.0, (middle + half) / (1 + z2))
