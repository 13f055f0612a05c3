"""How far rounding can change the charge of a leaky neuron: truncation on the chip, and the float64 sums of the check itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.connections import fan_in, synaptic_shift
from fsnn_lava.ir.network import INPUT, ChipNetwork, Readout, Synapse
from fsnn_lava.ir.stock_network import atrlif_error
from fsnn_lava.limits import DECAY_UNIT, MESSAGE_MAX
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.synaptic_sums import synaptic_row_sum

_EPS = 2.0**-53


def charge_truncation_loss(chip: ChipNetwork, steps: int) -> float:
    """Return the most charge that truncation can remove from a leaky neuron: (1 - 2**-12)(A - lambda**(T - 1)) (E10)."""
    return (1 - 1 / DECAY_UNIT) * (chip.weight_sum(steps) - chip.leak ** (steps - 1)) if chip.decay else 0.0


def charge_float_error(batch: Batch, synapses: Sequence[Synapse | Readout], drive: NDArray[Any], theta: float) -> float:
    """Bound the rounding error of the charge in float64: a sum of n terms has an error below n 2**-53 times the sum of their magnitudes.

    A trace is rounded 2 T times; `arrived` subtracts two traces and is scaled by lambda**-d, but never leaves [0, A].
    """
    chip, steps = batch.chip, batch.steps
    total = chip.weight_sum(steps)
    error = (float(np.abs(drive).max(initial=0.0)) + theta * total + 2.0**24) * (4 * steps + 8) * _EPS
    for synapse in synapses:
        delay = 0 if isinstance(synapse, Readout) else chip.delay(synapse)
        relative = (2 * steps + fan_in(synapse) + delay + 8) * _EPS
        error += 2.0 ** synaptic_shift(synapse) * synaptic_row_sum(synapse) * min(2 * total * chip.leak**-delay * relative, total)
    if chip.input.kind == "events":
        for source in (s for s in chip.synapses if s.source == INPUT):
            error += (
                2.0 ** synaptic_shift(source) * synaptic_row_sum(source) * MESSAGE_MAX * total * (2 * steps + fan_in(source) + 8) * _EPS
            )
    return error


def charge_rounding_tolerance(chip: ChipNetwork, graph: str) -> float:
    """Return by how much a graph's neurons may round differently from E9, units 2**-6: 0 unless stock neurons leak and subtract."""
    if graph != "stock" or chip.decay == 0 or all(layer.reset == "zero" for layer in chip.layers):
        return 0.0
    return atrlif_error(chip.decay)
