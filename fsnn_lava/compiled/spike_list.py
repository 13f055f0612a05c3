"""The list of spikes of one step: the indices of the neurons that fired, in ascending order, shared by all compiled runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsnn_lava.compiled.compiler import compiled

NO = np.bool_(False)  # in numba a literal False has its own type, for which the function would be compiled again
ONES = np.uint64(0x0101010101010101)
GATHER = np.uint64(0x0102040810204080)  # times eight bytes of 0 or 1: the highest byte of the product has byte i as bit i
PLACES = np.array([sorted(range(8), key=lambda i: (not pattern >> i & 1, i)) for pattern in range(256)], dtype=np.int32)  # set bits first
SET_BITS = np.array([pattern.bit_count() for pattern in range(256)], dtype=np.int64)


@compiled
def list_spikes(spikes: Any, words: Any, indices: Any, silent: Any) -> int:
    """Write the indices of the neurons that fired in a step (if `silent`, did not fire) into `indices`, ascending; return how many.

    `words` is `spikes`, eight at a time. A branch per neuron would be mispredicted too often, so the positions within eight are looked up
    and all eight are written.
    """
    number = 0
    whole = len(spikes) // 8
    flip = ONES if silent else np.uint64(0)
    for w in range(whole):
        word = words[w] ^ flip
        if word != 0:
            pattern = (word * GATHER) >> np.uint64(56)
            for k in range(8):
                indices[number + k] = 8 * w + PLACES[pattern, k]
            number += SET_BITS[pattern]
    for i in range(8 * whole, len(spikes)):
        indices[number] = i
        number += spikes[i] ^ silent
    return number
