"""Find which neurons were clipped, and for which of them clipping may have changed the rate (E10)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.rate_offset import rate_offset


def clipped_neurons(batch: Batch, index: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which neurons of a layer were clipped at the bottom, and which at the top, [B, *shape] each."""
    flags = batch.result.clipped[index]
    return (flags & CLIPPED_LOW) > 0, (flags & CLIPPED_HIGH) > 0


def harmfully_clipped(batch: Batch, index: int) -> NDArray[np.bool_]:
    """Return the clipped neurons for which E11 need not hold: clipping added or removed charge, which may have changed their rate."""
    low, high = clipped_neurons(batch, index)
    if not (low | high).any():
        return low
    layer, counts, rate = batch.chip.layers[index], batch.result.counts[index], batch.rates[index]
    bottom, top = counts == 0, counts == batch.steps
    if layer.reset == "subtract":
        least, most = rate_offset(batch, layer).interval
        bottom, top = bottom | (rate + most <= 0.0), top | (rate + least >= 1.0)
    return (low & high) | (low & ~bottom) | (high & ~top)
