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
    """Integer arithmetic: x * 2**bits, rounded down if `bits` is negative. The type of `x` must be wide enough for the result."""
    return x << bits if bits >= 0 else x >> -bits


@register_jitable
def leaked(u: Any, keep: int) -> Any:
    """Integer arithmetic: u * keep / 4096, rounded towards zero. Split into high and low 12 bits, |u| < 2**24 never exceeds 32 bits."""
    size = np.abs(u)
    kept = (size >> DECAY_BITS) * keep + (((size & _DECAY_MASK) * keep) >> DECAY_BITS)
    return np.sign(u) * kept


@register_jitable
def clipped(u: Any) -> Any:
    """Integer arithmetic: u limited to +-STATE_MAX."""
    return np.minimum(np.maximum(u, -STATE_MAX), STATE_MAX)


@register_jitable
def after_spike(u: Any, spike: Any, threshold: Any, subtract: bool) -> Any:
    """u after the reset (E9): where `spike` is 1, u minus the threshold (`subtract`) or zero."""
    return u - spike * threshold if subtract else u - spike * u


class Step(NamedTuple):
    """One step of many neurons."""

    u: NDArray[np.int32]  # after the reset
    spikes: NDArray[np.uint8]  # 0 or 1
    clipped: NDArray[np.uint8]  # CLIPPED_LOW, CLIPPED_HIGH or 0


def first_firing(threshold: NDArray[np.int32], *, strict: bool) -> NDArray[np.int32]:
    """Integer arithmetic: the smallest u that spikes, units 2**-6, for a threshold in weight units: 64 threshold, plus one if `strict`."""
    return np.ascontiguousarray((threshold.astype(np.int32) << STATE_FRACTION_BITS) + np.int32(strict))


def integrate(u: NDArray[np.int32], current: NDArray[Any], *, decay: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """The arithmetic of leak, add, clip: the new u, and flags where it was clipped. `current` is the sum of all inputs, units 2**-6.

    This is a whole step of the readout's integrators, which never spike.
    """
    raw = leaked(np.asarray(u, dtype=np.int64), DECAY_UNIT - decay) + current
    flags = (raw < -STATE_MAX) * np.uint8(CLIPPED_LOW) + (raw > STATE_MAX) * np.uint8(CLIPPED_HIGH)
    return clipped(raw).astype(np.int32), flags.astype(np.uint8)


def neuron_step(
    u: NDArray[np.int32], current: NDArray[Any], *, threshold: NDArray[np.int32], decay: int, subtract: bool, strict: bool
) -> Step:
    """The arithmetic of one step of a layer's neurons (E9) in numpy: leak, add, clip, compare, reset.

    `u` and `current` [..., *shape] in units of 2**-6; `threshold` broadcasts to [*shape], weight units.
    """
    charged, flags = integrate(u, current, decay=decay)
    spikes = (charged >= first_firing(threshold, strict=strict)).astype(np.int32)
    reset = after_spike(charged, spikes, threshold << STATE_FRACTION_BITS, subtract)
    return Step(reset.astype(np.int32), spikes.astype(np.uint8), flags)
