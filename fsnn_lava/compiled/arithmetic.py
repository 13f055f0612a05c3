"""The chip's integer neuron (E9): the same functions run on numpy arrays and, compiled, inside the emulator's kernels.

Units: `u` and every current are integers of 2**-6 weight units; `keep` is 4096 - decay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from fsnn_lava.limits import DECAY_UNIT, STATE_FRACTION_BITS, STATE_MAX

CLIPPED_LOW = 1  # bits of the flags that mark clipped neurons
CLIPPED_HIGH = 2

DECAY_BITS = DECAY_UNIT.bit_length() - 1
_DECAY_MASK = DECAY_UNIT - 1


@register_jitable
def shift(x: Any, bits: int) -> Any:
    """Return x * 2**bits in integer arithmetic, rounded down if `bits` is negative. The type of `x` must be wide enough for the result."""
    return x << bits if bits >= 0 else x >> -bits


@register_jitable
def leaked(u: Any, keep: int) -> Any:
    """Return u * keep / 4096 in integer arithmetic, rounded towards zero. It is computed in 12-bit halves, so |u| < 2**24 fits 32 bits."""
    size = np.abs(u)
    kept = (size >> DECAY_BITS) * keep + (((size & _DECAY_MASK) * keep) >> DECAY_BITS)
    return np.sign(u) * kept


@register_jitable
def clipped(u: Any) -> Any:
    """Return u clipped to +-STATE_MAX, in integer arithmetic."""
    return np.minimum(np.maximum(u, -STATE_MAX), STATE_MAX)


@register_jitable
def after_spike(u: Any, spike: Any, threshold: Any, subtract: bool) -> Any:
    """Return u after the reset (E9): where `spike` is 1, u minus the threshold if `subtract`, else zero."""
    return u - spike * threshold if subtract else u - spike * u


class Step(NamedTuple):
    """The outcome of one step of many neurons."""

    u: NDArray[np.int32]  # after the reset
    spikes: NDArray[np.uint8]  # 0 or 1
    clipped: NDArray[np.uint8]  # CLIPPED_LOW, CLIPPED_HIGH or 0


def first_firing(threshold: NDArray[np.int32], *, strict: bool) -> NDArray[np.int32]:
    """Return the smallest u that spikes, in units of 2**-6: 64 times the threshold (in weight units), plus one if `strict`."""
    return np.ascontiguousarray((threshold.astype(np.int32) << STATE_FRACTION_BITS) + np.int32(strict))


def integrate(u: NDArray[np.int32], current: NDArray[Any], *, decay: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Leak, add `current`, which is the sum of all inputs in units of 2**-6, and clip: return the new u, and flags where it was clipped.

    This is a whole step of the readout's integrators, which never spike.
    """
    raw = leaked(np.asarray(u, dtype=np.int64), DECAY_UNIT - decay) + current
    flags = (raw < -STATE_MAX) * np.uint8(CLIPPED_LOW) + (raw > STATE_MAX) * np.uint8(CLIPPED_HIGH)
    return clipped(raw).astype(np.int32), flags.astype(np.uint8)


def neuron_arithmetic(
    u: NDArray[np.int32], current: NDArray[Any], *, threshold: NDArray[np.int32], decay: int, subtract: bool, strict: bool
) -> Step:
    """Do the arithmetic of one step of a layer's neurons (E9) in numpy: leak, add, clip, compare, reset.

    `u` and `current` [..., *shape] are in units of 2**-6; `threshold` is in weight units and broadcasts to [*shape].
    """
    charged, flags = integrate(u, current, decay=decay)
    spikes = (charged >= first_firing(threshold, strict=strict)).astype(np.int32)
    reset = after_spike(charged, spikes, threshold << STATE_FRACTION_BITS, subtract)
    return Step(reset.astype(np.int32), spikes.astype(np.uint8), flags)
