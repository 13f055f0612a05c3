"""Batch norm and the clipped rate function of one layer, and their transposes, each in one pass over memory (E4, E5, E7).

Values are [B, P, C]: samples, positions, channels. Sums over positions are taken sample by sample, so the result does not depend on the
number of threads.
"""

from __future__ import annotations

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.slopes import rises
from fsnn_lava.compiled.vectors import Floats, Number

_rises = compiled(rises)


@compiled
def sample_moments(first: int, end: int, values: Floats, mean: Floats, squares: Floats) -> None:
    """For batch norm, set mean[b] to the mean over the positions of sample b, squares[b] to the sum of squared deviations; each [B, C]."""
    places = values.dtype.type(values.shape[1])
    for b in range(first, end):
        mean[b], squares[b] = 0, 0
        for p in range(values.shape[1]):
            for c in range(values.shape[2]):
                mean[b, c] += values[b, p, c]
        for c in range(values.shape[2]):
            mean[b, c] /= places
        for p in range(values.shape[1]):
            for c in range(values.shape[2]):
                distance = values[b, p, c] - mean[b, c]
                squares[b, c] += distance * distance


@compiled
def whiten_and_clip(first: int, end: int, values: Floats, mean: Floats, scale: Floats, weight: Floats, bias: Floats, mask: Floats,
                    masked: bool, top: Number, rate_max: Number, steepness: Number, rates: Floats, gain: Floats) -> None:  # fmt: skip
    """Normalise and clip: values <- (values - mean) scale, rates <- sigma(current/vth), gain <- mask sigma'/vth.

    The current is mask (weight values + bias). `steepness` is 1/vth, `rate_max` is the largest rate, and `top` is the current at which it
    is reached; both are infinite without an upper clip.
    """
    zero = steepness - steepness
    one = steepness / steepness
    for b in range(first, end):
        for p in range(values.shape[1]):
            for c in range(values.shape[2]):
                white = (values[b, p, c] - mean[c]) * scale[c]
                values[b, p, c] = white
                kept = mask[b, p, c] if masked else one
                current = kept * (weight[c] * white + bias[c])
                rates[b, p, c] = min(max(current * steepness, zero), rate_max)
                gain[b, p, c] = kept * steepness if _rises(current, top) else zero


@compiled
def gradient_sums(first: int, end: int, grads: Floats, gain: Floats, white: Floats, plain: Floats, along: Floats) -> None:
    """For batch norm's gradient, sum over the positions: plain[b] <- gain grads, along[b] <- gain grads white; each [B, C]."""
    for b in range(first, end):
        plain[b], along[b] = 0, 0
        for p in range(grads.shape[1]):
            for c in range(grads.shape[2]):
                back = gain[b, p, c] * grads[b, p, c]
                plain[b, c] += back
                along[b, c] += back * white[b, p, c]


@compiled
def through_batch_norm(first: int, end: int, grads: Floats, gain: Floats, white: Floats, plain: Floats, along: Floats, factor: Floats,
                       out: Floats) -> None:  # fmt: skip
    """Apply batch norm's gradient: out <- factor (gain grads - plain - along white); plain and along [C] are means over the batch."""
    for b in range(first, end):
        for p in range(grads.shape[1]):
            for c in range(grads.shape[2]):
                out[b, p, c] = factor[c] * (gain[b, p, c] * grads[b, p, c] - plain[c] - along[c] * white[b, p, c])
