"""Lava's ATRLIF neuron as this library configures it: two states that leak and are rounded separately (E9).

`v` is the sum of the currents, and `r` is what spikes have subtracted; the potential is u = v - r + offset. Without a leak this is E9.
"""

from __future__ import annotations

from typing import Any

from fsnn_lava.compiled.arithmetic import clipped, leaked
from fsnn_lava.compiled.compiler import compiled


@compiled
def leak_atrlif(r: Any, keep: int) -> None:
    """Apply the leak to r of every ATRLIF neuron."""
    for i in range(len(r)):
        r[i] = leaked(r[i], keep)


@compiled
def fire_atrlif(v: Any, r: Any, threshold: Any, spikes: Any) -> None:
    """Clip v, spike where v - r >= threshold/2, then r += threshold. `threshold` (64 vth) is even, units 2**-6."""
    for i in range(len(v)):
        v[i] = clipped(v[i])
        spike = v[i] - r[i] >= threshold[i] // 2
        r[i] += spike * threshold[i]
        spikes[i] = spike


@compiled
def store_atrlif_potentials(v: Any, r: Any, offset: Any) -> None:
    """Replace v by the potential u = v - r + offset, for every ATRLIF neuron."""
    for i in range(len(v)):
        v[i] += offset[i] - r[i]
