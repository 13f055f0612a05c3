"""sigma' at the ends of [0, 1] is 0, as in the paper, in the compiled slopes and wherever arrays or tensors are passed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fsnn_lava.compiled.slopes import find_slopes, rises

VTH = 1.7  # not a power of two: current/vth is rounded
TINY, BELOW = np.nextafter(0.0, 1.0), np.nextafter(VTH, 0.0)
CURRENTS = np.array([-1.0, -0.0, 0.0, TINY, 0.5, BELOW, VTH, 3.0])
WANTED = [False, False, False, True, True, True, False, False]


def test_sigma_rises_strictly_between_0_and_vth():
    assert [rises(current, VTH) for current in CURRENTS.tolist()] == WANTED
    assert rises(CURRENTS, VTH).tolist() == WANTED
    assert rises(torch.from_numpy(CURRENTS), VTH).tolist() == WANTED


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_compiled_slopes_are_flat_at_both_ends(kind):
    currents = np.array([[-1.0, 0.0, 0.5, VTH, np.nextafter(kind(VTH), kind(0)), 3.0]], kind)
    half, mask = (currents / 2).astype(kind), np.array([[1, 1, 2, 2, 2, 2]], kind)
    slope, gain = np.full_like(currents, np.nan), np.full_like(currents, np.nan)
    find_slopes(half, half, mask, kind(VTH), kind(0.25), slope, gain, True)  # halving and doubling is exact
    assert slope.tolist() == [[0, 0, 0.25, 0, 0.25, 0]]
    find_slopes(half, half, mask, kind(np.inf), kind(0.25), slope, gain, True)
    assert slope.tolist() == [[0, 0, 0.25, 0.25, 0.25, 0.25]], "without an upper clip"
    find_slopes(half, half, mask, kind(VTH), kind(0.25), slope, gain, True)
    assert gain.tolist() == [[0, 0, 0.5, 0, 0.5, 0]]
