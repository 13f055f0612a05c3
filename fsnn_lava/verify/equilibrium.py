"""a* of the integer network, solved in float64 to 1e-9; samples that do not converge are tried again from the run's own rates."""

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
DEFAULT_SAMPLES = 256  # of a run for which a* is solved, if the network is small enough
_BUDGET = 2e11  # multiplications that solving may take
_TYPICAL_STEPS = 60
_STEPS = 500
_DAMPING = 0.3


@dataclass(frozen=True)
class Equilibria:
    """Rates with a = f(a) for some samples, one [B, *shape] per layer."""

    rates: Rates
    residual: NDArray[np.float64]  # [B] max over neurons of |f(a) - a|

    @property
    def samples(self) -> int:
        return len(self.residual)

    @property
    def converged(self) -> NDArray[np.bool_]:
        return self.residual <= TOLERANCE


def affordable_equilibria(chip: ChipNetwork) -> int:
    """For how many samples a* is solved by default: as many as take some tens of seconds, at least 4."""
    return int(max(4, min(DEFAULT_SAMPLES, _BUDGET // (_TYPICAL_STEPS * max(1, equilibrium_multiplications(chip))))))


def equilibrium_multiplications(chip: ChipNetwork) -> int:
    """Multiplications that one evaluation of f takes for one sample."""
    total = 0
    for synapse in chip.synapses:
        if synapse.source != INPUT:
            grid = chip.layer(synapse.source if isinstance(synapse, TransposedConvSynapse) else synapse.target).shape[1:]
            total += synapse.weight.size * (1 if isinstance(synapse, DenseSynapse) else int(np.prod(grid)))
    return total


def solve_equilibria(rate_map: RateMap, drive: NDArray[np.float64], start: Rates) -> Equilibria:
    """a* for every sample; `start` are rates near it (E11), used where a start from rest does not converge."""
    solved = rate_map.solve_drive(drive, tol=TOLERANCE, max_steps=_STEPS)
    found = Equilibria(solved.rates, solved.residual)
    rows = np.flatnonzero(~found.converged)
    if len(rows) == 0:
        return found
    again = _solve_from(rate_map, drive[rows], tuple(rate[rows] for rate in start))
    rates, residual = tuple(rate.copy() for rate in found.rates), found.residual.copy()
    better = again.residual < residual[rows]
    residual[rows[better]] = again.residual[better]
    for rate, other in zip(rates, again.rates, strict=True):
        rate[rows[better]] = other[better]
    return Equilibria(rates, residual)


def _solve_from(rate_map: RateMap, drive: NDArray[np.float64], start: Rates) -> Equilibria:
    """Damped iteration on all layers at once: slower than Anderson's method, but it does not jump between the linear pieces of f."""
    sizes = [int(np.prod(rate.shape[1:])) for rate in start]

    def split(flat: Tensor) -> Rates:
        parts = np.split(flat.numpy(), np.cumsum(sizes)[:-1], axis=1)
        return tuple(part.reshape(rate.shape) for part, rate in zip(parts, start, strict=True))

    def joined(rates: Rates) -> Tensor:
        return torch.from_numpy(np.concatenate([rate.reshape(len(drive), -1) for rate in rates], axis=1))

    found = damped(
        lambda flat: joined(rate_map.apply(split(flat), drive)), joined(start), damping=_DAMPING, tol=TOLERANCE, max_steps=_STEPS
    )
    return Equilibria(split(found.value), found.residual.numpy())
