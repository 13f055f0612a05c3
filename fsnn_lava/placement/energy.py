"""The cost of a run: NeuroBench's counts, and an energy estimate from published constants.

Loihi 1's constants are public; Intel has published none for Loihi 2, so nothing here is a Loihi 2 number.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result

_STATE_BYTES = 3  # a potential, threshold or bias of 24 bits


@dataclass(frozen=True, kw_only=True)
class EnergyConstants:
    """Joules per event of one chip, and where they are published."""

    chip: str
    per_operation: float  # one synaptic operation
    per_update: float  # one neuron update
    per_spike: float  # one spike within a tile: a lower bound, hops across the mesh are not included
    source: str


LOIHI_1 = EnergyConstants(
    chip="Loihi 1",
    per_operation=23.6e-12,
    per_update=81e-12,
    per_spike=1.7e-12,
    source="M. Davies et al., Loihi: A Neuromorphic Manycore Processor with On-Chip Learning, IEEE Micro 38(1), 2018, "
    "table of pre-silicon SDF and SPICE simulations at 0.75 V, 25 °C; the minimum per synaptic operation, the active neuron update",
)


LOIHI_2 = "Intel has published no energy per operation of Loihi 2: measure it there (deploy/README.md). Static power is not counted."


def footprint(chip: ChipNetwork) -> int:
    """Bytes of weights (one each), biases, thresholds and potentials (three each), kernels counted once."""
    weights = sum(s.weight.size for s in chip.synapses) + chip.readout.weight.size
    neurons = sum(layer.size for layer in chip.layers) + chip.readout.classes
    thresholds = sum(layer.threshold.size for layer in chip.layers)
    return int(weights + _STATE_BYTES * (2 * neurons + thresholds))


def connection_sparsity(chip: ChipNetwork) -> float:
    """Share of zeros among all weights, kernels counted once."""
    arrays = [s.weight for s in chip.synapses] + [chip.readout.weight]
    return 1.0 - sum(int(np.count_nonzero(a)) for a in arrays) / sum(a.size for a in arrays)


def static_metrics(chip: ChipNetwork) -> dict[str, Any]:
    """NeuroBench's metrics that do not need a run."""
    return {"footprint": footprint(chip), "connection_sparsity": connection_sparsity(chip)}


def estimate_energy(chip: ChipNetwork, result: Result, *, constants: EnergyConstants = LOIHI_1) -> dict[str, Any]:
    """NeuroBench's counts per sample, and their energy with `constants`."""
    if result.digest != chip.digest():
        raise BadArgument("the result belongs to another network: pass the network that was run")
    spikes = np.zeros(result.samples, dtype=np.int64)
    for counts in result.counts:
        spikes += counts.reshape(result.samples, -1).sum(axis=1)
    slots = result.steps * sum(prod(layer.shape) for layer in chip.layers)
    operations, updates, mean_spikes = float(np.mean(result.operations)), float(np.mean(result.updates)), float(np.mean(spikes))
    joules = {
        "synaptic_operations": operations * constants.per_operation,
        "membrane_updates": updates * constants.per_update,
        "spikes": mean_spikes * constants.per_spike,
    }
    return {
        "estimate": True,
        **static_metrics(chip),
        "activation_sparsity": 1.0 - mean_spikes / slots,
        "activation_sparsity_by_layer": {
            layer.name: 1.0 - float(np.mean(counts)) / result.steps for layer, counts in zip(chip.layers, result.counts, strict=True)
        },
        "synaptic_operations": operations,
        "membrane_updates": updates,
        "spikes": mean_spikes,
        "energy_joules": {**joules, "total": sum(joules.values())},
        "constants": {
            "chip": constants.chip,
            "joules_per_synaptic_operation": constants.per_operation,
            "joules_per_membrane_update": constants.per_update,
            "joules_per_spike": constants.per_spike,
            "source": constants.source,
        },
        "loihi_2": LOIHI_2,
        "backend": result.backend,
        "samples": result.samples,
        "steps": result.steps,
    }
