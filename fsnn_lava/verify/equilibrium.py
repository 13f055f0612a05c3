"""a* of the integer network, solved in float64 to 1e-9; for samples that resist, again from the run's own rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.ir.network import INPUT, ChipNetwork, DenseSynapse, TransposedConvSynapse
from fsnn_lava.ir.rate_map import RateMap, Rates
from fsnn_lava.solvers.damped import damped

TOLERANCE = 1e-9
SAMPLES_MAX = 256  # of a run for which a* is solved, where nobody asks for another number
_BUDGET = 2e11  # multiplications that may take
_TYPICAL_STEPS = 60
_STEPS = 500
_DAMPING = 0.3


@dataclass(frozen=True)
class Point:
    """Rates with a = f(a) of the first samples of a batch."""

    rates: Rates
    residual: NDArray[np.float64]  # [B] max over neurons of |f(a) - a|

    @property
    def converged(self) -> NDArray[np.bool_]:
        return self.residual <= TOLERANCE


def affordable_samples(chip: ChipNetwork) -> int:
    """For how many samples a* is solved by default: as many as some tens of seconds allow, at least 4."""
    return int(max(4, min(SAMPLES_MAX, _BUDGET // (_TYPICAL_STEPS * max(1, multiplications(chip))))))


def multiplications(chip: ChipNetwork) -> int:
    """Of one evaluation of f for one sample."""
    total = 0
    for synapse in chip.synapses:
        if synapse.source != INPUT:
            grid = chip.layer(synapse.source if isinstance(synapse, TransposedConvSynapse) else synapse.target).shape[1:]
            total += synapse.weight.size * (1 if isinstance(synapse, DenseSynapse) else int(np.prod(grid)))
    return total


def solve(rate_map: RateMap, drive: NDArray[np.float64], start: Rates) -> Point:
    """a* for every sample; `start` are rates near it (E11), used where a start from rest does not converge."""
    found = rate_map.solve_drive(drive, tol=TOLERANCE, max_steps=_STEPS)
    point = Point(found.rates, found.residual)
    rows = np.flatnonzero(~point.converged)
    if len(rows) == 0:
        return point
    again = _from(rate_map, drive[rows], tuple(rate[rows] for rate in start))
    rates, residual = tuple(rate.copy() for rate in point.rates), point.residual.copy()
    better = again.residual < residual[rows]
    residual[rows[better]] = again.residual[better]
    for rate, other in zip(rates, again.rates, strict=True):
        rate[rows[better]] = other[better]
    return Point(rates, residual)


def _from(rate_map: RateMap, drive: NDArray[np.float64], start: Rates) -> Point:
    """Damped iteration on all layers at once: slower than Anderson's, but it does not jump between pieces of f."""
    sizes = [int(np.prod(rate.shape[1:])) for rate in start]

    def split(flat: Tensor) -> Rates:
        parts = np.split(flat.numpy(), np.cumsum(sizes)[:-1], axis=1)
        return tuple(part.reshape(rate.shape) for part, rate in zip(parts, start, strict=True))

    def onto_itself(flat: Tensor) -> Tensor:
        return torch.from_numpy(np.concatenate([r.reshape(len(drive), -1) for r in rate_map.apply(split(flat), drive)], axis=1))

    flat = torch.from_numpy(np.concatenate([rate.reshape(len(drive), -1) for rate in start], axis=1))
    found = damped(onto_itself, flat, damping=_DAMPING, tol=TOLERANCE, max_steps=_STEPS)
    return Point(split(found.value), found.residual.numpy())
