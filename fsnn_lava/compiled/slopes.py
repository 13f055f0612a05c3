"""sigma', the derivative of the clipped rate function (E4, E5), and the slopes of a batch. This is its only definition."""

from __future__ import annotations

from typing import Any

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.vectors import Floats, Number


def rises(current: Any, vth: Any) -> Any:
    """Whether the slope sigma' is 1 at current/vth: inside (0, 1) only. At exactly 0 and at exactly 1 it is 0, the paper's H(0) = 0.

    Accepts numbers, arrays and tensors.
    """
    return (current > 0) & (current < vth)


_rises = compiled(rises)


@compiled
def find_slopes(own: Floats, returned: Floats, mask: Floats, vth: Number, steepness: Number, slope: Floats, gain: Floats,
                masked: bool) -> None:  # fmt: skip
    """slope <- `steepness` where sigma rises at own + returned, else 0; gain <- slope * mask if `masked` (else it is `slope` itself)."""
    flat = vth - vth
    for b in range(len(own)):
        for i in range(own.shape[1]):
            slope[b, i] = steepness if _rises(own[b, i] + returned[b, i], vth) else flat
        if masked:
            for i in range(own.shape[1]):
                gain[b, i] = slope[b, i] * mask[b, i]
