"""The equilibrium of a small network by dense linear algebra: no iteration, so that an iterative one can be held against it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.rate_map import Drive, RateMap, Rates


def dense_weights(rate_map: RateMap) -> NDArray[np.float64]:
    """[n, n] of all layers together: current into every neuron per unit of rate of every neuron, over its threshold."""
    chip = rate_map.chip
    sizes = [layer.size for layer in chip.layers]
    nothing = tuple(np.zeros((sum(sizes), *layer.shape)) for layer in chip.layers)
    units = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1], axis=1)
    rates = tuple(unit.reshape(-1, *layer.shape) for unit, layer in zip(units, chip.layers, strict=True))
    with_units = rate_map.currents(rates, nothing)
    without = rate_map.currents(tuple(np.zeros_like(rate) for rate in rates), nothing)
    thresholds = [layer.per_neuron(layer.threshold) for layer in chip.layers]
    parts = [((w - o) / t).reshape(len(w), -1) for w, o, t in zip(with_units, without, thresholds, strict=True)]
    return np.concatenate(parts, axis=1).T


def exact_equilibrium(rate_map: RateMap, near: Rates, drive: Drive) -> NDArray[np.float64] | None:
    """[n] a* of one sample, on the pieces of sigma that the rates `near` it are on; None if the solution is on other pieces."""
    thresholds = [layer.per_neuron(layer.threshold) for layer in rate_map.chip.layers]

    def inputs(rates: Rates) -> NDArray[np.float64]:
        return np.concatenate([(c / t).reshape(-1) for c, t in zip(rate_map.currents(rates, drive), thresholds, strict=True)])

    weights, constant = dense_weights(rate_map), inputs(tuple(np.zeros_like(rate) for rate in near))
    value = inputs(near)
    active, full = (value > 0) & (value < 1), value >= 1
    found = full.astype(np.float64)
    system = np.eye(int(active.sum())) - weights[np.ix_(active, active)]
    found[active] = np.linalg.solve(system, constant[active] + weights[np.ix_(active, full)].sum(axis=1))
    after = np.clip(weights @ found + constant, 0.0, 1.0)
    return found if np.abs(after - found).max(initial=0.0) < 1e-12 else None
