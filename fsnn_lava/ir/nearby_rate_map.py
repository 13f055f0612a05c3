"""The rate map f of an integer network near known rates: only the change of every current is computed, in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.ir.network import INPUT, Synapse
from fsnn_lava.ir.rate_map import RateMap, Rates
from fsnn_lava.ir.synapse_operator import apply_operator


class NearbyRateMap(RateMap):
    """Computes f(a) as f(c + (a - c)): exact at the centre c, and off by about 1e-7 |a - c| elsewhere; several times faster than float64.

    Only for samples in the order of `centre`.
    """

    def __init__(self, rate_map: RateMap, centre: Rates) -> None:
        super().__init__(rate_map.chip)
        self._centre = centre
        inner = [s for s in self.chip.synapses if s.source != INPUT]
        self._currents = {id(s): rate_map.apply_synapse(s, centre[self.chip.index(s.source)]) for s in inner}
        self._small = {id(s): self._weights[id(s)].float() * 2.0**s.exponent for s in inner}

    def apply_synapse(self, synapse: Synapse, rates: NDArray[Any]) -> NDArray[np.float64]:
        """Return the current at the centre in float64, plus that of the difference in float32."""
        change = (rates - self._centre[self.chip.index(synapse.source)]).astype(np.float32)
        with torch.no_grad():
            found = apply_operator(synapse, self._small[id(synapse)], torch.from_numpy(np.ascontiguousarray(change)))
        return self._currents[id(synapse)] + found.numpy()
