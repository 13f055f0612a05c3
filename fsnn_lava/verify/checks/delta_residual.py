"""Check the residual of a run with delta encoding and its distance to a* against E16."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import Layer
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.residual_bound import delta_residual_bound
from fsnn_lava.verify.checks.residual import ResidualCheck


class DeltaResidualCheck(ResidualCheck):
    """ResidualCheck with the bound of E16: the dead band, one unit of rounding, and the messages in flight."""

    SOURCES = "its dead band and the messages in flight"

    def _bound(self, batch: Batch, layer: Layer) -> NDArray[np.float64]:
        return delta_residual_bound(batch, layer)

    def _excused(self, batch: Batch, index: int) -> NDArray[np.bool_]:
        """Return the neurons that were clipped: the sums check reports them, and f does not clip its drive."""
        return batch.result.clipped[index] != 0

    def _sentence(self, worst: float) -> str:
        if self.above:
            sentence = f"|f(a) - a| exceeds what dead bands and messages in flight explain in {self.above} neurons x samples (E16)"
        else:
            sentence = f"|f(a) - a| is explained by dead bands and messages in flight, and is at most {worst:.4g} spikes per step (E16)"
        if self.solved:
            sentence += f"; |a - a*| is at most {self.distance_max.max():.4g} ({self.solved} samples)"
        return f"{sentence}, too far in {self.too_far} cases" if self.too_far else sentence
