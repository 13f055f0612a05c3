"""Which bit of a flag means which end of the state."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW
from fsnn_lava.verify.bounds.clipping import clipped_neurons, harmfully_clipped


def batch(flags, counts, steps=4, reset="zero"):
    """With a reset to zero only counts decide: silent below, always firing above."""
    result = SimpleNamespace(clipped=(np.array([flags], np.uint8),), counts=(np.array([counts]),))
    chip = SimpleNamespace(layers=(SimpleNamespace(reset=reset),))
    return SimpleNamespace(result=result, chip=chip, rates=(np.array([counts]) / steps,), steps=steps)


def test_both_ends_are_distinguished():
    low, high = clipped_neurons(batch([0, CLIPPED_LOW, CLIPPED_HIGH, CLIPPED_LOW | CLIPPED_HIGH], [0] * 4), 0)
    assert (low[0].tolist(), high[0].tolist()) == ([False, True, False, True], [False, False, True, True])


def test_a_clip_is_harmless_where_it_cannot_have_changed_the_rate():
    """Clipped below and silent, clipped above and firing at every step: harmless; anything else, or both ends, is not."""
    flags = [CLIPPED_LOW, CLIPPED_LOW, CLIPPED_HIGH, CLIPPED_HIGH, CLIPPED_LOW | CLIPPED_HIGH, 0]
    assert harmfully_clipped(batch(flags, [0, 1, 4, 3, 0, 2]), 0)[0].tolist() == [False, True, False, True, True, False]
    assert not harmfully_clipped(batch([0, 0], [1, 2]), 0).any()
