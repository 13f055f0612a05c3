"""The map of one pass around the loops of a network, and its derivative at a point; both map the feedback's sources to themselves (E18)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.ir.network import INPUT, Synapse
from fsnn_lava.ir.rate_map import Drive, RateMap, Rates, feedback_sources
from fsnn_lava.ir.synapse_operator import operator_of

Floats = NDArray[np.float64]


class Loop:
    """g: rates of the feedback's sources -> the same rates after one pass over all layers, each computed from the latest rates (E18).

    Vectors [B, n] contain the sources, concatenated.
    """

    def __init__(self, rate_map: RateMap) -> None:
        self.rate_map, self.chip = rate_map, rate_map.chip
        self.sources = feedback_sources(self.chip)
        self.thresholds = [layer.per_neuron(layer.threshold).astype(np.float64) for layer in self.chip.layers]
        self.sizes = [self.chip.layers[k].size for k in self.sources]
        self.size = sum(self.sizes)
        inner = [s for s in self.chip.synapses if s.source != INPUT]
        self.into = [[s for s in inner if s.target == layer.name] for layer in self.chip.layers]  # synapses between layers, by target
        self._weights = {id(s): torch.from_numpy(s.weight * 2.0**s.exponent) for s in inner}

    def join(self, rates: Rates) -> Floats:
        """Concatenate the rates of the loop's sources to [B, n], given those of all layers."""
        return np.concatenate([rates[k].reshape(len(rates[k]), -1) for k in self.sources], axis=1)

    def split(self, vector: Floats) -> dict[int, Floats]:
        """Split [B, n] into [B, *shape] for every source of the loop, by its index."""
        parts = np.split(vector, np.cumsum(self.sizes)[:-1], axis=1)
        return {k: part.reshape(len(vector), *self.chip.layers[k].shape) for k, part in zip(self.sources, parts, strict=True)}

    def sweep(self, vector: Floats, drive: Drive) -> tuple[Rates, Rates]:
        """Make one pass around the loop: return the rates of all layers, in order, and the inputs of sigma, current / threshold."""
        given = self.split(vector)
        rates: list[Floats] = []
        inputs: list[Floats] = []
        for position, current in enumerate(drive):
            for synapse in self.into[position]:
                k = self.chip.index(synapse.source)
                current = current + self.rate_map.apply_synapse(synapse, rates[k] if k < position else given[k])
            inputs.append(current / self.thresholds[position])
            rates.append(np.clip(inputs[-1], 0.0, self.rate_map.rate_max))
        return tuple(rates), tuple(inputs)

    def weight(self, synapse: Synapse) -> Tensor:
        """Return 2**exponent times the weight of a synapse between layers, in float64."""
        return self._weights[id(synapse)]


class LinearisedLoop:
    """J, the derivative of g for a given set of `active` neurons, on the rising piece of sigma: one boolean [B, *shape] per layer."""

    def __init__(self, loop: Loop, active: tuple[NDArray[np.bool_], ...]) -> None:
        self.loop, self._active = loop, active
        self._slopes = [mask / threshold for mask, threshold in zip(active, loop.thresholds, strict=True)]

    def at(self, rows: NDArray[np.intp]) -> LinearisedLoop:
        """Return the linearised loop of some of the samples."""
        return LinearisedLoop(self.loop, tuple(mask[rows] for mask in self._active))

    def apply(self, vector: Floats) -> Floats:
        """J v, [B, n]."""
        loop, given = self.loop, self.loop.split(vector)
        changes: list[Floats] = []
        for position, slope in enumerate(self._slopes):
            total = np.zeros(slope.shape)
            for synapse in loop.into[position]:
                k = loop.chip.index(synapse.source)
                total += self._through(synapse, changes[k] if k < position else given[k], back=False)
            changes.append(slope * total)
        return loop.join(tuple(changes))

    def transpose(self, vector: Floats) -> Floats:
        """J^T v, [B, n]."""
        loop = self.loop
        into = loop.split(vector)
        pulled = [into[k].copy() if k in into else np.zeros(slope.shape) for k, slope in enumerate(self._slopes)]
        out = {k: np.zeros(part.shape) for k, part in into.items()}
        for position in reversed(range(len(self._slopes))):
            change = self._slopes[position] * pulled[position]
            for synapse in loop.into[position]:
                k = loop.chip.index(synapse.source)
                back = self._through(synapse, change, back=True)
                if k < position:
                    pulled[k] += back
                else:
                    out[k] += back
        return np.concatenate([out[k].reshape(len(vector), -1) for k in loop.sources], axis=1)

    def _through(self, synapse: Synapse, values: Floats, *, back: bool) -> Floats:
        operator = operator_of(synapse, self.loop.chip.layer(synapse.source).shape)
        given = torch.from_numpy(np.ascontiguousarray(values))
        apply = operator.transpose if back else operator.apply
        with torch.no_grad():
            return apply(self.loop.weight(synapse), given.flatten(1) if back and synapse.weight.ndim == 2 else given).numpy()
