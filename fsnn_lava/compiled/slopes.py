"""The only definition of sigma', the derivative of the clipped rate function (E4, E5), and the slopes of a batch."""

from __future__ import annotations

from typing import Any

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.vectors import Floats, Number


def rises(current: Any, top: Any) -> Any:
    """Return whether sigma has a slope at `current`: between 0 and `top` (vth times the largest rate), but not at either end (H(0) = 0).

    Accepts numbers, arrays and tensors; `top` is infinite where rates have no upper clip.
    """
    return (current > 0) & (current < top)


_rises = compiled(rises)


@compiled
def find_slopes(own: Floats, returned: Floats, mask: Floats, top: Number, steepness: Number, slope: Floats, gain: Floats,
                masked: bool) -> None:  # fmt: skip
    """Set slope to `steepness` where sigma rises at own + returned, else 0, and gain to slope * mask if `masked` (else it is `slope`)."""
    flat = steepness - steepness
    for b in range(len(own)):
        for i in range(own.shape[1]):
            slope[b, i] = steepness if _rises(own[b, i] + returned[b, i], top) else flat
        if masked:
            for i in range(own.shape[1]):
                gain[b, i] = slope[b, i] * mask[b, i]
