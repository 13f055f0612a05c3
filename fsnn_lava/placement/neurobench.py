"""NeuroBench's metrics for a network and a run, under NeuroBench's names. They count what the backend did; cost.py is about the chip."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result

_STATE_BYTES = 3  # a potential, threshold or bias of 24 bits


def footprint(chip: ChipNetwork) -> int:
    """Return NeuroBench's footprint: bytes of weights (one each), biases, thresholds and potentials (three each); kernels count once."""
    weights = sum(s.weight.size for s in chip.synapses) + chip.readout.weight.size
    neurons = sum(layer.size for layer in chip.layers) + chip.readout.classes
    thresholds = sum(layer.threshold.size for layer in chip.layers)
    return int(weights + _STATE_BYTES * (2 * neurons + thresholds))


def connection_sparsity(chip: ChipNetwork) -> float:
    """Return NeuroBench's connection sparsity: the share of zeros among all weights; kernels count once."""
    arrays = [s.weight for s in chip.synapses] + [chip.readout.weight]
    return 1.0 - sum(int(np.count_nonzero(a)) for a in arrays) / sum(a.size for a in arrays)


def static_metrics(chip: ChipNetwork) -> dict[str, Any]:
    """Return NeuroBench's metrics that do not need a run."""
    return {"footprint": footprint(chip), "connection_sparsity": connection_sparsity(chip)}


def workload_metrics(chip: ChipNetwork, result: Result) -> dict[str, Any]:
    """Return all of NeuroBench's metrics, per sample of a run of `chip`."""
    if result.digest != chip.digest():
        raise BadArgument("the result belongs to another network: pass the network that was run")
    spikes = sum(float(counts.reshape(result.samples, -1).sum(axis=1).mean()) for counts in result.counts)
    slots = result.steps * sum(prod(layer.shape) for layer in chip.layers)
    return {
        **static_metrics(chip),
        "activation_sparsity": 1.0 - spikes / slots,
        "activation_sparsity_by_layer": {
            layer.name: 1.0 - float(np.mean(counts)) / result.steps for layer, counts in zip(chip.layers, result.counts, strict=True)
        },
        "synaptic_operations": float(np.mean(result.operations)),
        "membrane_updates": float(np.mean(result.updates)),
        "spikes": spikes,
        "backend": result.backend,
        "samples": result.samples,
        "steps": result.steps,
    }
