"""Rounding the readout: its weights use the whole range, and its exponent keeps the sum over T steps inside the state."""

from __future__ import annotations

from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.ir.network import Readout
from fsnn_lava.quantisation.rounding import SHARES, largest_integer

HEADROOM = 4.0  # times what the calibration data needs
STATE_RANGE = limits.STATE_MAX / 2**limits.STATE_FRACTION_BITS  # weight units


def round_readout(
    weight: NDArray[np.float64], bias: NDArray[np.float64], rates: NDArray[np.float64], *, bits: int, decay: int, weight_sum: float
) -> Readout:
    """Round the readout to the clipping range whose logits are closest to the float ones on calibration data.

    `rates` [B, N] are those of the last layer on calibration data; `weight_sum` is A of E3 over the steps of a run.
    """
    top = largest_integer(bits)
    wanted = rates @ weight.T + bias
    best: tuple[float, Readout] | None = None
    for share in SHARES:
        step = share * float(np.abs(weight).max()) / top or 1.0
        integers = np.clip(np.rint(weight / step), -top, top)
        exponent = _exponent(integers, rates, wanted / step, bias / step, weight_sum, limits.WEIGHT_BITS[-1] - bits)
        unit = step * 2.0**-exponent
        rounded_bias = np.rint(bias / unit)
        got = (rates @ integers.T * 2.0**exponent + rounded_bias) * unit
        error = float(np.mean((got - wanted) ** 2))
        if best is None or error < best[0]:
            found = Readout(
                weight=integers.astype(np.int64),
                bias=rounded_bias.astype(np.int64),
                scale=np.array(unit),
                exponent=exponent,
                decay=decay,
            )
            best = (error, found)
    if best is None:
        raise AssertionError("SHARES must not be empty")
    return best[1]


def _exponent(
    weight: NDArray[np.float64],
    rates: NDArray[np.float64],
    logits: NDArray[np.float64],
    bias: NDArray[np.float64],
    weight_sum: float,
    highest: int,
) -> int:
    """Return `highest` (the finest unit for the bias), or less if the worst case and HEADROOM times the calibration data would not fit."""
    worst = weight_sum * float(np.max(np.maximum(np.maximum(weight, 0).sum(1), -np.minimum(weight, 0).sum(1)) + np.abs(bias)))
    spread = float(np.abs(rates @ weight.T).max(initial=0.0))
    needed = HEADROOM * weight_sum * max(float(np.abs(logits).max(initial=0.0)), spread, 1.0)
    if worst == 0.0:
        return 0
    return max(min(highest, floor(log2(STATE_RANGE / min(worst, needed)))), limits.EXPONENT_RANGE[0])
