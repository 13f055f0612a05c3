"""Compute delta of E11: how far f(a) is from a neuron's rate, given its final charge and the late spikes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.connections import incoming_synapses, synaptic_shift
from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.arrived_charge import layer_charge
from fsnn_lava.verify.bounds.charge_rounding import charge_float_error

Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class RateOffset:
    """delta of E11 times `scale`: `charge` plus a rounding error between `low` and `high`."""

    charge: NDArray[np.float64]  # [B, *shape], from the final potential and late spikes
    low: NDArray[np.float64]  # [B or 1, *shape], or one number
    high: NDArray[np.float64]
    scale: NDArray[np.float64]  # [*shape] theta A

    @property
    def interval(self) -> Interval:
        """The lowest and the highest possible value of delta, [B, *shape], spikes per step."""
        return (self.charge + self.low) / self.scale, (self.charge + self.high) / self.scale


def rate_offset(batch: Batch, layer: Layer) -> RateOffset:
    """Return delta of E11, the rate offset, for the neurons of a layer; computed once per batch."""
    return batch.once("rate offset", layer, _offset)


def _offset(batch: Batch, layer: Layer) -> RateOffset:
    chip, index = batch.chip, batch.chip.index(layer.name)
    synapses = incoming_synapses(chip, layer)
    theta = layer.per_neuron(layer.threshold).astype(np.float64) * 2.0**STATE_FRACTION_BITS
    charge = batch.result.potentials[index].astype(np.float64)
    for synapse in synapses:
        if chip.delay(synapse) > 0:
            charge += batch.missing_sum(synapse) * 2.0 ** synaptic_shift(synapse)
    floors = sum(synaptic_shift(s) < 0 for s in synapses)  # the integers of E10 lose less than one more to rounding
    least, most = layer_charge(batch, layer).lost
    slack = floors + 2 * charge_float_error(batch, synapses, batch.drives[index], float(theta.max()))
    return RateOffset(
        charge, np.asarray(least - slack, np.float64), np.asarray(most + slack, np.float64), theta * chip.weight_sum(batch.steps)
    )
