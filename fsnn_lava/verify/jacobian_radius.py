"""The spectral radius of the Jacobian of f at an equilibrium: an estimate where no certificate exists, not a bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.slopes import rises
from fsnn_lava.ir.network import INPUT
from fsnn_lava.ir.rate_map import Drive, RateMap, Rates

_TURNS = 24  # iterations of the power method around the loop; the first half is discarded


def jacobian_radius(rate_map: RateMap, rates: Rates, drive: Drive) -> NDArray[np.float64]:
    """[B] spectral radius of the Jacobian of f at `rates`, by power iteration. Only neurons with rates inside (0, 1) propagate changes."""
    chip = rate_map.chip
    thresholds = [layer.per_neuron(layer.threshold).astype(np.float64) for layer in chip.layers]
    currents = rate_map.currents(rates, drive)
    slopes = [rises(c, t) / t for c, t in zip(currents, thresholds, strict=True)]
    rng, samples = np.random.default_rng(0), len(rates[0])
    vector = tuple(rng.random((samples, *layer.shape)) for layer in chip.layers)
    steps = _TURNS * len(chip.layers)
    growth = np.zeros(samples)
    for step in range(steps):
        vector = _apply_jacobian(rate_map, slopes, vector)
        length = np.sqrt(sum(np.square(v).reshape(samples, -1).sum(axis=1) for v in vector))
        alive = length > np.finfo(float).tiny  # otherwise no active neuron feeds back to itself, and the radius is 0
        vector = tuple(v / np.where(alive, length, 1.0).reshape(-1, *[1] * (v.ndim - 1)) for v in vector)
        if step >= steps // 2:
            growth += np.log(np.where(alive, length, 1.0))
    return np.where(alive, np.exp(growth / (steps - steps // 2)), 0.0)


def _apply_jacobian(rate_map: RateMap, slopes: list[NDArray[np.float64]], vector: Rates) -> Rates:
    chip = rate_map.chip
    out = [np.zeros_like(v) for v in vector]
    for synapse in chip.synapses:
        if synapse.source != INPUT:
            out[chip.index(synapse.target)] += rate_map.apply_synapse(synapse, vector[chip.index(synapse.source)])
    return tuple(slope * o for slope, o in zip(slopes, out, strict=True))
