"""ATRLIF's arithmetic at its edges: a difference that equals half of the threshold fires, and both states are rounded towards zero."""

from __future__ import annotations

import numpy as np

from fsnn_lava.compiled.atrlif import fire_atrlif, leak_atrlif, store_atrlif_potentials
from fsnn_lava.limits import STATE_MAX


def test_a_neuron_fires_at_half_of_its_threshold_above_r():
    threshold = np.array([640, 640, 640, 128], np.int32)
    v, r, spikes = np.array([420, 419, -7, 9], np.int32), np.array([100, 100, -327, -55], np.int32), np.zeros(4, np.uint8)
    fire_atrlif(v, r, threshold, spikes)
    assert spikes.tolist() == [1, 0, 1, 1]
    assert v.tolist() == [420, 419, -7, 9]  # a spike is not subtracted from v …
    assert r.tolist() == [740, 100, 313, 73]  # … but added to r
    store_atrlif_potentials(v, r, threshold // 2)
    assert v.tolist() == [0, 639, 0, 0]


def test_v_is_clipped_before_it_is_compared():
    threshold = np.full(2, 2 * (STATE_MAX + 1), np.int64)
    v, r, spikes = np.array([STATE_MAX + 1, -STATE_MAX - 9]), np.zeros(2, np.int64), np.zeros(2, np.uint8)
    fire_atrlif(v, r, threshold, spikes)
    assert v.tolist() == [STATE_MAX, -STATE_MAX]
    assert spikes.tolist() == [0, 0]


def test_r_leaks_towards_zero():
    r = np.array([1, -1, 4096, 4097, -4097, 0], np.int32)
    leak_atrlif(r, 4096 - 205)
    assert r.tolist() == [0, 0, 3891, 3891, -3891, 0]  # 4097 * 3891 / 4096 = 3891.9…
