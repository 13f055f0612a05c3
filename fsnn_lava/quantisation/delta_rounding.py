"""Rounding one layer for delta encoding (E15): the threshold is a power of two, and no connection is shifted right.

A connection's grid is vth * 2**-n; the layer's unit is the finest grid, vth * 2**-s with s the largest n, so that every exponent s - n is
at least 0. The input is sent once and read with 2**6 more bits, so its grid may be 6 bits finer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import floor, isfinite, log2

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import Readout
from fsnn_lava.quantisation.folded_network import FoldedConnection
from fsnn_lava.quantisation.layer_problem import LayerProblem
from fsnn_lava.quantisation.readout_rounding import SHARES
from fsnn_lava.quantisation.rounding import RoundedLayer, largest_integer, rounding_defect

SHIFT_MIN = 8  # smallest s; a bias is rounded to 2**-s of the threshold
SHIFT_MAX = limits.THRESHOLD_MAX.bit_length() - 1
RATE_BITS_WANTED = 10  # q, if the state has room for it
RATE_BITS_GOOD = 8  # q below which a coarser weight grid is preferred
READOUT_LEAST = 7  # the largest weight of the readout: 4 bits with its sign
HEADROOM = 2.0  # times the largest sum, drive and logit of the calibration data


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaLayer:
    """A rounded layer, and the largest rate_bits with which its sums fit the state."""

    rounded: RoundedLayer
    rate_bits: int


def round_delta_layer(problem: LayerProblem, inputs: tuple[FoldedConnection, ...], *, bits: int) -> DeltaLayer:
    """Round a layer to the grids whose rates on calibration data are closest to the float ones; `inputs` are connections from pixels."""
    found = None
    for shift in range(SHIFT_MAX, SHIFT_MIN - 1, -1):
        rounded = _best(problem, inputs, bits, shift)
        if found is None or int(rounded.threshold) != int(found.rounded.threshold):
            found = DeltaLayer(rounded=rounded, rate_bits=_rate_bits(problem, inputs, rounded))
        if found.rate_bits >= RATE_BITS_GOOD:
            break
    if found is None or found.rate_bits < limits.RATE_BITS[0]:
        message = "" if isfinite(problem.rate_max) else ", or its rates 16 bits"
        raise BadNetwork(
            f"delta encoding: the sums of a layer of {problem.shape} neurons exceed 24 bits{message}; "
            "its drive is too large compared with vth"
        )
    return found


def _best(problem: LayerProblem, inputs: tuple[FoldedConnection, ...], bits: int, shift_max: int) -> RoundedLayer:
    """Return the best rounded layer with s <= `shift_max`."""
    top, wanted = largest_integer(bits), problem.current() / problem.vth
    choices = [
        _grids(connection, problem.vth, top, shift_max + (limits.STATE_FRACTION_BITS if connection in inputs else 0))
        for connection in problem.connections
    ]
    candidates = [_rounded(problem, inputs, grids, top) for grids in product(*choices)]
    return min(candidates, key=lambda rounded: rounding_defect(problem, rounded, wanted))


def _grids(connection: FoldedConnection, vth: float, top: int, finest: int) -> list[int]:
    """Return the exponents to try, at most `finest`: the largest that clips no weight, and the next, which clips the largest weights."""
    largest = float(connection.weight.abs().max()) / vth
    whole = floor(log2(top / largest)) if largest > 0 else 0
    lowest = limits.EXPONENT_RANGE[0]
    return sorted({max(lowest, min(n, finest)) for n in (whole, whole + 1)})


def _rounded(problem: LayerProblem, inputs: tuple[FoldedConnection, ...], grids: tuple[int, ...], top: int) -> RoundedLayer:
    needed = [
        n - (limits.STATE_FRACTION_BITS if connection in inputs else 0) for connection, n in zip(problem.connections, grids, strict=True)
    ]
    shift = max([SHIFT_MIN, *needed])
    unit = problem.vth * 2.0**-shift
    weights = [
        np.clip(np.rint(connection.weight.numpy() * (2.0**n / problem.vth)), -top, top).astype(np.int64)
        for connection, n in zip(problem.connections, grids, strict=True)
    ]
    return RoundedLayer(
        weights=tuple(weights),
        exponents=tuple(shift - n for n in grids),
        threshold=np.array(2**shift, dtype=np.int64),
        bias=np.rint(problem.bias / unit).astype(np.int64),
        scale=np.array(unit),
    )


def _rate_bits(problem: LayerProblem, inputs: tuple[FoldedConnection, ...], rounded: RoundedLayer) -> int:
    """Return the largest q, at most RATE_BITS_WANTED, for which HEADROOM times the sum and the drive of the calibration data fit the state.

    Without an upper clip, HEADROOM times the largest rate must also fit a message.
    """
    unit = float(rounded.scale)
    drive = problem.bias if problem.host_current is None else problem.host_current
    sums: NDArray[np.float64] = np.zeros(1)
    for connection, messages in zip(problem.connections, problem.messages, strict=True):
        current = connection.apply(messages).numpy()
        if connection in inputs:
            drive = drive + current
        else:
            sums = sums + current
    largest = max(float(np.abs(sums).max()), float(np.abs(drive).max()), problem.vth) / unit
    fitting = min(RATE_BITS_WANTED, floor(log2(limits.STATE_MAX / (HEADROOM * largest))))
    if isfinite(problem.rate_max):
        return fitting
    rate = max(1.0, float(problem.current().max()) / problem.vth)
    return min(fitting, floor(log2(limits.CHANGE_MAX / (HEADROOM * rate))))


def round_delta_readout(weight: NDArray[np.float64], bias: NDArray[np.float64], rates: NDArray[np.float64], *, bits: int) -> Readout:
    """Round the readout with exponent 0, to the clipping range whose logits are closest to the float ones on calibration data.

    Its unit is coarse enough that HEADROOM times these logits fit the state with the fewest rate_bits.

    Raises:
        BadNetwork: with that unit, the largest weight is less than READOUT_LEAST.
    """
    top, wanted, largest = largest_integer(bits), rates @ weight.T + bias, float(np.abs(weight).max())
    finest = HEADROOM * float(np.abs(wanted).max(initial=0.0)) * 2.0 ** limits.RATE_BITS[0] / limits.STATE_MAX
    if finest * READOUT_LEAST > largest:
        raise BadNetwork("delta encoding: the sums of the readout exceed 24 bits; the last layer has too many neurons with large rates")
    best: tuple[float, Readout] | None = None
    for share in SHARES:
        unit = max(share * largest / top, finest) or 1.0
        integers = np.clip(np.rint(weight / unit), -top, top)
        rounded_bias = np.rint(bias / unit)
        error = float(np.mean(((rates @ integers.T + rounded_bias) * unit - wanted) ** 2))
        if best is None or error < best[0]:
            best = error, Readout(weight=integers.astype(np.int64), bias=rounded_bias.astype(np.int64), scale=np.array(unit))
    if best is None:
        raise AssertionError("SHARES must not be empty")
    return best[1]


def delta_readout_rate_bits(readout: Readout, rates: NDArray[np.float64]) -> int:
    """Return the largest q for which HEADROOM times the logits of the calibration data fit the state; at least the fewest rate_bits."""
    largest = float(np.abs(rates @ readout.weight.T.astype(np.float64) + readout.bias).max(initial=0.0))
    fitting = floor(log2(limits.STATE_MAX / (HEADROOM * largest))) if largest > 0 else RATE_BITS_WANTED
    return max(limits.RATE_BITS[0], fitting)
