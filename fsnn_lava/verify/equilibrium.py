"""Solve for the equilibrium a* of the integer network to 1e-9, from the run's own rates; if that fails, other methods are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.ir.nearby_rate_map import NearbyRateMap
from fsnn_lava.ir.rate_map import Drive, RateMap, Rates, rows_of
from fsnn_lava.solvers.damped import damped

TOLERANCE = 1e-9
_STEPS = 500
_ROUND_TOLERANCES = (1e-6, 1e-10)  # float32 resolves about 1e-7 of the distance to the centre, which is first 1, then 1e-6
_DAMPING = 0.3


@dataclass(frozen=True)
class Equilibria:
    """Equilibria of some samples, rates with a = f(a), one [B, *shape] per layer."""

    rates: Rates
    residual: NDArray[np.float64]  # [B] max over neurons of |f(a) - a|

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.residual)

    def at(self, rows: NDArray[np.intp]) -> Equilibria:
        """Return the equilibria of some of the samples."""
        return Equilibria(tuple(rate[rows] for rate in self.rates), self.residual[rows])

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Which samples converged, [B]."""
        return self.residual <= TOLERANCE


def solve_equilibria(rate_map: RateMap, drive: Drive, start: Rates) -> Equilibria:
    """Solve for the equilibrium a* of every sample from `start`, rates near it (E11); if that fails, try from rest or with damping."""
    found = _in_rounds(rate_map, drive, start)
    for attempt in (_from_rest, _damped_from(start)):
        rows = np.flatnonzero(~found.converged)
        if len(rows):
            found = _better(found, attempt(rate_map, drive, rows), rows)
    return found


def _in_rounds(rate_map: RateMap, drive: Drive, start: Rates) -> Equilibria:
    """Solve in float32 for changes around rates whose currents are known in float64; each round adds about six digits."""
    rates = start
    for tolerance in _ROUND_TOLERANCES:
        rates = NearbyRateMap(rate_map, rates).solve_drive(drive, tol=tolerance, max_steps=_STEPS, start=rates).rates
    return Equilibria(rates, _residual(rate_map, rates, drive))


def _residual(rate_map: RateMap, rates: Rates, drive: Drive) -> NDArray[np.float64]:
    gaps = [np.abs(f - a).reshape(len(a), -1).max(axis=1) for f, a in zip(rate_map.apply(rates, drive), rates, strict=True)]
    return np.max(gaps, axis=0)


def _from_rest(rate_map: RateMap, drive: Drive, rows: NDArray[np.intp]) -> Equilibria:
    solved = rate_map.solve_drive(rows_of(drive, rows), tol=TOLERANCE, max_steps=_STEPS)
    return Equilibria(solved.rates, solved.residual)


def _damped_from(start: Rates) -> Callable[[RateMap, Drive, NDArray[np.intp]], Equilibria]:
    return lambda rate_map, drive, rows: _solve_from(rate_map, rows_of(drive, rows), rows_of(start, rows))


def _better(found: Equilibria, again: Equilibria, rows: NDArray[np.intp]) -> Equilibria:
    """Return `found`, with those `rows` replaced for which `again` has a smaller residual."""
    rates, residual = tuple(rate.copy() for rate in found.rates), found.residual.copy()
    better = again.residual < residual[rows]
    residual[rows[better]] = again.residual[better]
    for rate, other in zip(rates, again.rates, strict=True):
        rate[rows[better]] = other[better]
    return Equilibria(rates, residual)


def _solve_from(rate_map: RateMap, drive: Drive, start: Rates) -> Equilibria:
    """Iterate all layers at once with damping: slower than Anderson's method, but it does not jump between the linear pieces of f."""
    sizes = [int(np.prod(rate.shape[1:])) for rate in start]

    def split(flat: Tensor) -> Rates:
        parts = np.split(flat.numpy(), np.cumsum(sizes)[:-1], axis=1)
        return tuple(part.reshape(rate.shape) for part, rate in zip(parts, start, strict=True))

    def joined(rates: Rates) -> Tensor:
        return torch.from_numpy(np.concatenate([rate.reshape(len(rate), -1) for rate in rates], axis=1))

    found = damped(
        lambda flat: joined(rate_map.apply(split(flat), drive)), joined(start), damping=_DAMPING, tol=TOLERANCE, max_steps=_STEPS
    )
    return Equilibria(split(found.value), found.residual.numpy())
