"""The chip's integer neuron (E9), once: the same functions run on numpy arrays and, compiled, inside the emulator's kernels.

Units: `u` and every current are integers of 2**-6 weight units; `keep` is 4096 - decay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from fsnn_lava.ir.network import Layer, Readout
from fsnn_lava.limits import DECAY_UNIT, STATE_FRACTION_BITS, STATE_MAX

CLIPPED_LOW = 1  # bits of `clipped`
CLIPPED_HIGH = 2

DECAY_BITS = DECAY_UNIT.bit_length() - 1
_DECAY_MASK = DECAY_UNIT - 1


@register_jitable
def shift(x: Any, bits: int) -> Any:
    """x * 2**bits, rounded down if bits is negative. `x` must be wide enough to hold it."""
    return x << bits if bits >= 0 else x >> -bits


@register_jitable
def leaked(u: Any, keep: int) -> Any:
    """u * keep / 4096, rounded towards zero. |u| < 2**24 fits 32 bits throughout: |u| is taken apart into high and low 12 bits."""
    size = np.abs(u)
    kept = (size >> DECAY_BITS) * keep + (((size & _DECAY_MASK) * keep) >> DECAY_BITS)
    return np.sign(u) * kept


@register_jitable
def clipped(u: Any) -> Any:
    """u inside +-STATE_MAX."""
    return np.minimum(np.maximum(u, -STATE_MAX), STATE_MAX)


@register_jitable
def after_spike(u: Any, spike: Any, threshold: Any, subtract: bool) -> Any:
    """u after its reset: minus the threshold (subtract) or zero, where `spike` is 1."""
    return u - spike * threshold if subtract else u - spike * u


class Step(NamedTuple):
    """One step of many neurons."""

    u: NDArray[np.int32]  # after the reset
    spikes: NDArray[np.uint8]  # 0 or 1
    clipped: NDArray[np.uint8]  # CLIPPED_LOW, CLIPPED_HIGH or 0


def first_firing(layer: Layer) -> NDArray[np.int32]:
    """The smallest u that spikes, per neuron [*shape], units 2**-6: 64 threshold, one more if the layer is strict."""
    threshold = layer.per_neuron(layer.threshold).astype(np.int32) << STATE_FRACTION_BITS
    return np.ascontiguousarray(threshold + np.int32(layer.strict))


def integrate(u: NDArray[np.int32], current: NDArray[Any], *, decay: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Leak, add, clip: the new u and where it was clipped. `current` is everything that arrives, bias included, already shifted."""
    raw = leaked(np.asarray(u, dtype=np.int64), DECAY_UNIT - decay) + current
    flags = (raw < -STATE_MAX) * np.uint8(CLIPPED_LOW) + (raw > STATE_MAX) * np.uint8(CLIPPED_HIGH)
    return clipped(raw).astype(np.int32), flags.astype(np.uint8)


def neuron_step(u: NDArray[np.int32], current: NDArray[Any], *, layer: Layer) -> Step:
    """One step of a layer's neurons (E9): leak, add, clip, compare, reset. `u` and `current` are [..., *shape], units 2**-6."""
    charged, flags = integrate(u, current, decay=layer.decay)
    spikes = (charged >= first_firing(layer)).astype(np.int32)
    threshold = layer.per_neuron(layer.threshold) << STATE_FRACTION_BITS
    return Step(after_spike(charged, spikes, threshold, layer.reset == "subtract").astype(np.int32), spikes.astype(np.uint8), flags)


def readout_step(u: NDArray[np.int32], current: NDArray[Any], *, readout: Readout) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """One step of the readout's integrators: leak, add, clip; they never spike. `current` includes the bias."""
    return integrate(u, current, decay=readout.decay)
