"""The largest residuals consistent with each neuron's charge (E11), in one pass over a batch.

This is the comparator's own arithmetic; it shares no code with the simulations that it checks.
"""

from __future__ import annotations

from typing import Any

from fsnn_lava.compiled.compiler import compiled

_ROUNDING = 4e-16  # relative rounding error of the two sums below


@compiled
def largest_residuals(rate: Any, charge: Any, scale: Any, low: Any, high: Any, out: Any) -> None:
    """Set `out` to the larger of |clip(rate + (charge + end)/scale, 0, 1) - rate| for the ends `low` and `high`.

    `rate`, `charge` and `out` are [B, n], `scale` is [n]; `low` and `high` are [B or 1, n or 1].
    """
    for b in range(len(rate)):
        lows, highs = low[b % len(low)], high[b % len(high)]
        for i in range(rate.shape[1]):
            a = rate[b, i]
            down = (charge[b, i] + lows[i % len(lows)]) / scale[i]
            up = (charge[b, i] + highs[i % len(highs)]) / scale[i]
            out[b, i] = max(abs(min(max(a + down, 0.0), 1.0) - a), abs(min(max(a + up, 0.0), 1.0) - a)) + _ROUNDING
