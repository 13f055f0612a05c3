"""delta of E11: by how much a neuron's charge and the late spikes say that f(a) is off from its rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW
from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.arrived_charge import layer_charge, rounding
from fsnn_lava.verify.currents import connect, incoming, total_shift

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]


def surplus(batch: Batch, layer: Layer) -> Ends:
    """The lowest and the highest that delta can be, [B, *shape], spikes per step; roundings make it an interval."""
    return batch.once(("surplus", layer.name), lambda: _surplus(batch, layer))


def _surplus(batch: Batch, layer: Layer) -> Ends:
    chip, index = batch.chip, batch.chip.index(layer.name)
    synapses = incoming(chip, layer)
    theta = layer.per_neuron(layer.threshold).astype(np.float64) * 2.0**STATE_FRACTION_BITS
    charge = batch.result.potentials[index].astype(np.float64)
    for synapse in synapses:
        if chip.delay(synapse) > 0:
            total = batch.result.counts if chip.decay == 0 else batch.result.traces
            missing = total[chip.index(synapse.source)] - batch.arrived(synapse)
            charge = charge + connect(synapse, missing) * 2.0 ** total_shift(synapse)
    floors = sum(total_shift(s) < 0 for s in synapses)  # integers of E10 are rounded by less than one more
    least, most = layer_charge(batch, layer).lost
    slack = rounding(batch, synapses, batch.drives[index], float(theta.max()))
    scale = theta * chip.weight_sum(batch.steps)
    return (charge + least - floors - 2 * slack) / scale, (charge + most + floors + 2 * slack) / scale


def residual_bound(batch: Batch, layer: Layer) -> NDArray[np.float64]:
    """E11: the largest |f(a) - a| that a neuron's final potential and the late spikes allow, [B, *shape]."""
    rate = batch.rates[batch.chip.index(layer.name)]
    return np.maximum(*(np.abs(np.clip(rate + end, 0.0, 1.0) - rate) for end in surplus(batch, layer))) + 4e-16


def clips(batch: Batch, index: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Neurons of a layer that were clipped at the bottom, and at the top, [B, *shape] each."""
    flags = batch.result.clipped[index]
    return (flags & CLIPPED_LOW) > 0, (flags & CLIPPED_HIGH) > 0


def spoilt(batch: Batch, index: int) -> NDArray[np.bool_]:
    """Clipped neurons for which E11 need not hold: clipping took or added charge that can have changed their rate (E10)."""
    low, high = clips(batch, index)
    if not (low | high).any():
        return low
    layer, counts, rate = batch.chip.layers[index], batch.result.counts[index], batch.rates[index]
    bottom, top = counts == 0, counts == batch.steps
    if layer.reset == "subtract":
        least, most = surplus(batch, layer)
        bottom, top = bottom | (rate + most <= 0.0), top | (rate + least >= 1.0)
    return (low & high) | (low & ~bottom) | (high & ~top)
