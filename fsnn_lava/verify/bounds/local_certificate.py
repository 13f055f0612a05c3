"""A local certificate per sample (E18): the derivative of its loop, how far it holds, and the implied distance to an equilibrium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.slopes import rises
from fsnn_lava.ir.rate_map import Drive, RateMap, Rates
from fsnn_lava.solvers.lanczos_norm import norm_bounds
from fsnn_lava.verify.bounds.loop_gains import LoopGains
from fsnn_lava.verify.linearised_loop import LinearisedLoop, Loop

Floats = NDArray[np.float64]

FAILURE = 1e-12  # probability that one norm is wrong; at most 1000 norms enter a verdict
POWERS = (1, 2, 4, 8)  # powers of J, tried in this order until one has a norm below 1
STEPS_MAX = 60  # Lanczos steps per norm
STEPS_MIN = 12  # with fewer steps, the bound is too loose to be useful
_ROUNDING = 1e-12  # per neuron, for rates computed in float64
_TURNS = 60  # iterations of the search for a radius


@dataclass(frozen=True)
class LocalCertificates:
    """Local certificates, one entry per sample, [B]."""

    norm: Floats  # an upper bound of ||J|| at the centre
    power: NDArray[np.int64]  # the k of POWERS that gave the certificate, with ||J**k|| < 1; 0 if not certified
    spectral_radius: Floats  # upper bound for J at the centre: the smallest ||J**k||**(1/k) of those that were tried
    radius: Floats  # an equilibrium lies within it around the centre's sources; infinite if not certified
    unique_radius: Floats  # there is no other equilibrium within it; 0 if not certified
    undecided: NDArray[np.int64]  # neurons that may move to another piece of sigma within `radius`
    distance: Floats  # [N, B] bounds of ||a - a*|| layer by layer; infinite if not certified
    norms: int  # norms that each hold except with probability FAILURE

    @property
    def certified(self) -> NDArray[np.bool_]:
        return np.isfinite(self.radius)


class LocalCertifier:
    """Certifies samples of one network locally. Higher powers of J help if ||J|| >= 1 although its spectral radius is below 1.

    `passes`: how often each certificate may apply J or its transpose. With fewer passes, norms are looser and fewer powers are tried.
    """

    def __init__(self, rate_map: RateMap, *, passes: int | None = None) -> None:
        self.loop = Loop(rate_map)
        self.gains = LoopGains(self.loop)
        self.passes = passes

    def certify(
        self, centre: Rates, rates: Rates, drive: Drive, *, samples: NDArray[np.intp], powers: tuple[int, ...] = POWERS
    ) -> LocalCertificates:
        """Certify samples around `centre`, and bound the distance of the run's `rates` from there; each is one [B, *shape] per layer.

        `samples` are the indices of the samples in the run; they seed the random starts, so that the result does not depend on batches.
        """
        loop, start = self.loop, self.loop.join(centre)
        swept, inputs = loop.sweep(start, drive)
        residual = _lengths(loop.join(swept) - start) + _ROUNDING * np.sqrt(loop.size)
        jacobian = LinearisedLoop(loop, tuple(rises(z, loop.rate_map.rate_max) for z in inputs))
        found = self._inverse(jacobian, samples, powers, lambda inverse: self._radius(inputs, inverse, residual))
        inverse = found.inverse
        radius = self._radius(inputs, inverse, residual)
        certified = np.isfinite(radius)
        unique = np.where(certified, self._unique_radius(inputs, inverse, np.where(certified, radius, 0.0)), 0.0)
        undecided = self._undecided(inputs, np.where(certified, radius, 0.0))
        counts = np.sum([u.reshape(len(start), -1).sum(axis=1) for u in undecided], axis=0)
        return LocalCertificates(
            norm=found.norm,
            power=np.where(certified, found.power, 0),
            spectral_radius=found.spectral_radius,
            radius=radius,
            unique_radius=unique,
            undecided=counts,
            distance=self._distances(start, swept, rates, radius),
            norms=found.norms,
        )

    def _inverse(
        self, jacobian: LinearisedLoop, samples: NDArray[np.intp], powers: tuple[int, ...], radius: Callable[[Floats], Floats]
    ) -> _Inverse:
        """Bound ||(1 - J)**-1|| by ||1 + J + … + J**(k-1)|| / (1 - ||J**k||), for the first k with ||J**k|| < 1.

        It is at least 1/(1 + ||J||): if a sample has no finite `radius` even with that value, it is given up after the first power.
        """
        found, left = _Inverse(len(samples)), self.passes
        for k in powers:
            steps = STEPS_MAX if left is None else min(STEPS_MAX, left // (2 * k))
            if k > 1 and steps < STEPS_MIN:
                break
            missing = np.flatnonzero(found.open)
            at_missing, numbers = jacobian.at(missing), samples[missing]
            of_power, of_sum = self._norm(_Power(at_missing, k), numbers, steps, enough=None if k == 1 else 1.0), np.ones(len(missing))
            found.norms += len(missing)
            if k > 1 and (below := np.flatnonzero(of_power < 1.0)).size:
                of_sum[below] = self._norm(_PowerSum(at_missing.at(below), k), numbers[below], steps)
                found.norms += below.size
            left = None if left is None else left - 2 * k * steps  # steps allowed, since steps taken depend on the other samples
            found.take(missing, k, of_power, of_sum)
            if k == 1:
                found.open &= np.isfinite(radius(1.0 / (1.0 + found.norm)))
            if not found.open.any():
                break
        return found

    def _norm(self, operator: _Power, samples: NDArray[np.intp], steps: int, enough: float | None = None) -> Floats:
        """Return upper bounds on the norms, [B]. Every sample, power and operator has its own random start."""
        key = int(isinstance(operator, _PowerSum)), operator.number
        start = np.stack([np.random.default_rng([*key, int(sample)]).standard_normal(self.loop.size) for sample in samples])
        return norm_bounds(operator.apply, operator.transpose, start, failure=FAILURE, max_steps=max(1, steps), enough=enough).upper

    def _undecided(self, inputs: Rates, radius: Floats) -> list[NDArray[np.bool_]]:
        """Return the neurons whose input may cross 0 or the largest rate while the sources stay within `radius` [B] of the centre."""
        found = []
        for value, row in zip(inputs, self.gains.rows, strict=True):
            reach = row * radius.reshape(-1, *[1] * row.ndim)
            found.append((np.abs(value) <= reach) | (np.abs(value - self.loop.rate_map.rate_max) <= reach))
        return found

    def _left(self, inputs: Rates, inverse: Floats, radius: Floats) -> Floats:
        """Return 1 - ||(1 - J)**-1|| * (the most that J changes within `radius`); if positive, Newton's step is a contraction there."""
        with np.errstate(invalid="ignore"):
            left = 1.0 - inverse * self.gains.change_of_jacobian(self._undecided(inputs, radius))
        return np.where(np.isnan(left), -np.inf, left)

    def _radius(self, inputs: Rates, inverse: Floats, residual: Floats) -> Floats:
        """Return the smallest R found with inverse * residual <= R * left(R), [B]; infinite if there is none."""
        step = np.where(np.isfinite(inverse), inverse * residual, 0.0)
        radius, good = step.copy(), np.isfinite(inverse)
        for _ in range(_TURNS):
            left = self._left(inputs, inverse, radius)
            good &= left > 0.0
            short = good & (step > radius * np.where(good, left, 0.0))
            if not short.any():
                break
            radius = np.where(short, step / np.where(short, left, 1.0) * (1 + 1e-9), radius)
        return np.where(good & ~short, radius, np.inf)

    def _unique_radius(self, inputs: Rates, inverse: Floats, least: Floats) -> Floats:
        """Return the largest R found with left(R) > 0, at least `least`, [B]: there is at most one equilibrium within it."""
        furthest = 2.0 * self.loop.rate_map.rate_max * np.sqrt(self.loop.size)
        low, high = np.maximum(least, np.finfo(float).tiny), np.full(len(least), furthest)
        everywhere = self._left(inputs, inverse, high) > 0.0
        for _ in range(30):
            middle = np.sqrt(low * high)
            holds = self._left(inputs, inverse, middle) > 0.0
            low, high = np.where(holds, middle, low), np.where(holds, high, middle)
        return np.where(everywhere, np.inf, low)

    def _distances(self, start: Floats, swept: Rates, rates: Rates, radius: Floats) -> Floats:
        """Return the distances [N, B] from the run's rates to the centre, plus how far a layer can move within the sources' `radius`."""
        own = self.loop.split(start)
        found = []
        for position, rate in enumerate(rates):
            middle, moved = (own[position], 1.0) if position in own else (swept[position], self.gains.reach[position])
            reached = moved * radius if moved else np.zeros(len(radius))  # an infinite radius does not reach a layer without feedback
            found.append(_lengths((rate - middle).reshape(len(rate), -1)) + reached + _ROUNDING * np.sqrt(rate[0].size))
        return np.array(found)


class _Inverse:
    """Bounds on ||(1 - J)**-1||, one entry per sample."""

    def __init__(self, samples: int) -> None:
        self.inverse = np.full(samples, np.inf)  # upper bounds
        self.power = np.zeros(samples, np.int64)  # the k that gave the bound; 0 if none
        self.norm = np.full(samples, np.inf)  # upper bounds of ||J||
        self.spectral_radius = np.full(samples, np.inf)  # upper bounds for J
        self.open = np.ones(samples, dtype=bool)  # samples for which another power may help
        self.norms = 0

    def take(self, rows: NDArray[np.intp], k: int, of_power: Floats, of_sum: Floats) -> None:
        """Record ||J**k|| and ||1 + … + J**(k - 1)|| of some samples."""
        if k == 1:
            self.norm[rows] = of_power
        self.spectral_radius[rows] = np.minimum(self.spectral_radius[rows], of_power ** (1.0 / k))
        below = of_power < 1.0
        self.inverse[rows[below]] = of_sum[below] / (1.0 - of_power[below])
        self.power[rows[below]] = k
        self.open[rows[below]] = False


class _Power:
    """J**k."""

    def __init__(self, jacobian: LinearisedLoop, number: int) -> None:
        self.jacobian, self.number = jacobian, number

    def apply(self, vector: Floats) -> Floats:
        for _ in range(self.number):
            vector = self.jacobian.apply(vector)
        return vector

    def transpose(self, vector: Floats) -> Floats:
        for _ in range(self.number):
            vector = self.jacobian.transpose(vector)
        return vector


class _PowerSum(_Power):
    """1 + J + … + J**(k - 1)."""

    def apply(self, vector: Floats) -> Floats:
        total = vector
        for _ in range(self.number - 1):
            total = vector + self.jacobian.apply(total)
        return total

    def transpose(self, vector: Floats) -> Floats:
        total = vector
        for _ in range(self.number - 1):
            total = vector + self.jacobian.transpose(total)
        return total


def _lengths(vectors: Floats) -> Floats:
    return np.sqrt(np.einsum("bn,bn->b", vectors, vectors))
