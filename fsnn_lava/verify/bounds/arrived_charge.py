"""The right-hand side of E10: the charge that arrived at every neuron, and how much of it rounding may have removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.connections import incoming_synapses, synaptic_shift
from fsnn_lava.ir.network import Layer, Readout, Synapse
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.charge_rounding import charge_float_error, charge_truncation_loss
from fsnn_lava.verify.synaptic_sums import synaptic_sum, synaptic_sum_with


@dataclass(frozen=True)
class ArrivedCharge:
    """The right-hand side of E10 for some neurons, [B, ...] in units of 2**-6: arrived charge, and how much rounding may have removed (R).

    int64 for IF, float64 with a leak. u[T] + theta <s> must lie between arrived - lost[1] and arrived - lost[0].
    """

    arrived: NDArray[Any]  # <D> + sum 2**n w.<s>_arrived; already rounded down for IF and n < 0
    lost: tuple[Any, Any]  # lower and upper limit of R

    @property
    def low(self) -> NDArray[Any]:
        return self.arrived - self.lost[1]

    @property
    def high(self) -> NDArray[Any]:
        return self.arrived - self.lost[0]

    @property
    def width(self) -> float:
        """The largest difference between `high` and `low`."""
        return float(np.max(self.lost[1] - self.lost[0], initial=0.0))

    def violation(self, measured: NDArray[Any]) -> NDArray[Any]:
        """Return 0 inside the interval, otherwise how far above (positive) or below (negative) it the value is."""
        off = measured - self.arrived
        return off if self.width == 0.0 else off - np.clip(off, -self.lost[1], -self.lost[0])


def layer_charge(batch: Batch, layer: Layer) -> ArrivedCharge:
    """Return the charge that arrived at the neurons of a layer, the right-hand side of E10, [B, *shape]."""
    return batch.once("charge", layer, _layer_charge)


def _layer_charge(batch: Batch, layer: Layer) -> ArrivedCharge:
    chip, synapses = batch.chip, incoming_synapses(batch.chip, layer)
    parts = [_through(batch, s, batch.arrived(s), batch.arrived_sum(s), max(0, batch.steps - chip.delay(s))) for s in synapses]
    theta = float(np.max(layer.threshold)) * 2.0**STATE_FRACTION_BITS
    return _total(batch, batch.drives[chip.index(layer.name)], parts, synapses, theta)


def readout_charge(batch: Batch) -> ArrivedCharge:
    """Return the charge that arrived at the readout, the right-hand side of E10, [B, classes]."""
    chip, readout = batch.chip, batch.chip.readout
    spikes = batch.result.counts[-1].astype(np.int64) if chip.decay == 0 else batch.result.traces[-1]
    bias = readout.bias.astype(np.int64) << STATE_FRACTION_BITS
    drive = bias * batch.steps if chip.decay == 0 else bias * chip.weight_sum(batch.steps)
    return _total(batch, drive, [_through(batch, readout, spikes, synaptic_sum(readout, spikes), batch.steps)], [readout], 0.0)


def _total(
    batch: Batch, drive: NDArray[Any], parts: list[ArrivedCharge], synapses: Sequence[Synapse | Readout], theta: float
) -> ArrivedCharge:
    slack: Any = 0
    if batch.chip.decay:
        slack = charge_truncation_loss(batch.chip, batch.steps) + charge_float_error(batch, synapses, drive, theta) + batch.tolerance
    least, most = (sum((part.lost[i] for part in parts), start=0) for i in (0, 1))
    return ArrivedCharge(drive + sum((part.arrived for part in parts), start=0), (least - slack, most + slack))


def _through(batch: Batch, synapse: Synapse | Readout, arrived: NDArray[Any], total: NDArray[Any], steps: int) -> ArrivedCharge:
    """Return 2**n w.<s>_arrived of one synapse, given `total` = w.<s>_arrived, and what flooring can remove in `steps` steps."""
    bits, chip = synaptic_shift(synapse), batch.chip
    if chip.decay:
        return ArrivedCharge(total * 2.0**bits, (0.0, chip.weight_sum(steps) * (1 - 2.0**bits) if bits < 0 else 0.0))
    if bits >= 0:
        return ArrivedCharge(total << bits, (0, 0))
    spikes = synaptic_sum_with(synapse, (synapse.weight != 0).astype(np.int8), arrived)  # flooring removes nothing in the other steps
    lost = np.minimum(spikes, steps) * ((1 << -bits) - 1)
    whole = total >> -bits
    return ArrivedCharge(whole, (0, whole + ((lost - total) >> -bits)))  # a sum of floors is an integer too: round the lower end up
