"""The slope of the clipped rate function at the currents of a batch (E4, E5)."""

from __future__ import annotations

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.vectors import Floats, Number


@compiled
def find_slopes(own: Floats, returned: Floats, mask: Floats, vth: Number, steepness: Number, slope: Floats, gain: Floats,
                masked: bool) -> None:  # fmt: skip
    """slope <- `steepness` where 0 < own + returned < vth, else 0; gain <- slope * mask if `masked` (else it is `slope` itself)."""
    flat = vth - vth
    for b in range(len(own)):
        for i in range(own.shape[1]):
            current = own[b, i] + returned[b, i]
            slope[b, i] = steepness if (current > flat) & (current < vth) else flat
        if masked:
            for i in range(own.shape[1]):
                gain[b, i] = slope[b, i] * mask[b, i]
