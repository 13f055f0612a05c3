"""Check the equilibrium residual of a run against its bound (E11), neuron by neuron, and the distance to the equilibrium a*."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.rate_map import Rates
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.bounds.clipping import harmfully_clipped
from fsnn_lava.verify.bounds.residual_bound import residual_bound
from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, Offender
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_largest, merge_total
from fsnn_lava.verify.neuron_index import first_neuron_indices, neuron_index
from fsnn_lava.verify.thresholds import Thresholds

LINK = "equilibrium → integer spikes"
SCATTER_KEPT = 4000  # points (a*, a) that a report plots
_SAME = 1e-9  # allowed difference between two ways to compute f(a) in float64


class ResidualCheck(MergedFindings):
    """Checks that |f(a) - a| is within E11 for every neuron, and ||a - a*|| within (1 - M)**-1 ||f(a) - a|| if the network is certified.

    Samples for which no a* was found have no distance. The user's thresholds on both are counted separately.
    """

    SOURCES = "its potential and late spikes"

    RULES = {
        **dict.fromkeys(("above", "too_far", "samples", "solved", "per_sample", "bound_per_sample"), merge_total),
        **dict.fromkeys(("mapped_again", "mapped_differently"), merge_total),
        **dict.fromkeys(("residuals_missed", "distances_missed"), merge_total),
        **dict.fromkeys(("residual_sum", "distance_sum"), merge_total),
        **dict.fromkeys(("residual_max", "bound_max", "distance_max", "distance_share"), merge_largest),
        "scatter": merge_first(SCATTER_KEPT),
        "offenders": merge_first(OFFENDERS_KEPT),
    }

    def __init__(self, chip: ChipNetwork, certificate: Certificate, thresholds: Thresholds) -> None:
        self.chip, self.certificate, self.thresholds = chip, certificate, thresholds
        zeros = np.zeros(len(chip.layers))  # one number per layer, over all samples so far
        self.residual_max, self.residual_sum, self.bound_max = zeros.copy(), zeros.copy(), zeros.copy()
        self.distance_max, self.distance_sum = zeros.copy(), zeros.copy()
        self.above = self.too_far = self.samples = self.solved = 0
        self.residuals_missed = self.distances_missed = 0  # neurons, samples
        self.mapped_again = self.mapped_differently = 0  # samples, neurons x samples
        self.per_sample: list[float] = []
        self.bound_per_sample: list[float] = []
        self.scatter: list[list[float]] = []
        self.offenders: list[Offender] = []
        self.distance_share = 0.0  # largest distance relative to its bound

    @property
    def bounded(self) -> bool:
        return all(layer.reset == "subtract" for layer in self.chip.layers)

    def add(self, batch: Batch, mapped: Rates) -> None:
        """Add a batch; `mapped` is f(a)."""
        residuals = [np.abs(f - a) for f, a in zip(mapped, batch.rates, strict=True)]
        sample_bound = np.zeros(batch.samples)
        for index, layer in enumerate(self.chip.layers):
            bound = self._bound(batch, layer) if layer.reset == "subtract" else np.ones_like(residuals[index])
            sample_bound = np.maximum(sample_bound, bound.reshape(batch.samples, -1).max(axis=1))
            self._add_layer(batch, index, layer, residuals[index], bound)
        self.samples += batch.samples
        self.per_sample += list(np.max([r.reshape(batch.samples, -1).max(axis=1) for r in residuals], axis=0))
        self.bound_per_sample += list(sample_bound)

    def add_again(self, batch: Batch, again: Rates) -> None:
        """Compare f(a) of some samples, which uses the sums of the charge check, with `again`, computed without them."""
        self.mapped_again += batch.samples
        for layer, one, other in zip(self.chip.layers, batch.mapped, again, strict=True):
            wrong = np.abs(one - other) > _SAME
            self.mapped_differently += int(np.count_nonzero(wrong))
            for row, flat in first_neuron_indices(wrong, OFFENDERS_KEPT - len(self.offenders)):
                with_sums, without = (float(f[row].reshape(-1)[flat]) for f in (one, other))
                what = f"f(a) is {with_sums:.9g} by the sums of the charge check, {without:.9g} without them"
                place: Offender = {"sample": batch.sample(row), "layer": layer.name, "neuron": neuron_index(layer, flat), "what": what}
                self.offenders.append(place)

    def _bound(self, batch: Batch, layer: Layer) -> NDArray[np.float64]:
        return residual_bound(batch, layer)

    def _excused(self, batch: Batch, index: int) -> NDArray[np.bool_]:
        """Return the neurons for which the bound need not hold; the charge check reports them."""
        return harmfully_clipped(batch, index)

    def _add_layer(self, batch: Batch, index: int, layer: Layer, residual: NDArray[np.float64], bound: NDArray[np.float64]) -> None:
        self.residual_max[index] = max(self.residual_max[index], residual.max(initial=0.0))
        self.residual_sum[index] += residual.sum()
        self.bound_max[index] = max(self.bound_max[index], bound.max(initial=0.0))
        over = (residual > bound) & ~self._excused(batch, index)
        self.above += int(np.count_nonzero(over))
        if self.thresholds.residual_max is not None:
            missed = residual > self.thresholds.residual_max
            self.residuals_missed += int(np.count_nonzero(missed))
            over |= missed
        for row, flat in first_neuron_indices(over, OFFENDERS_KEPT - len(self.offenders)):
            got, most = (float(part[row].reshape(-1)[flat]) for part in (residual, bound))
            what = f"|f(a) - a| is {got:.4g}, but {self.SOURCES} allow at most {most:.4g}"
            if got <= most:
                what = f"|f(a) - a| is {got:.4g}, more than the allowed {self.thresholds.residual_max:.4g}"
            self.offenders.append(
                {
                    "sample": batch.sample(row),
                    "layer": layer.name,
                    "neuron": neuron_index(layer, flat),
                    "residual": got,
                    "bound": most,
                    "what": what,
                }
            )

    def add_equilibria(self, batch: Batch, equilibria: Equilibria) -> None:
        """Measure how far the rates of some samples are from their equilibria."""
        residuals = [np.abs(f - a) for f, a in zip(batch.mapped, batch.rates, strict=True)]
        found = np.flatnonzero(equilibria.converged)
        rows = len(found)
        if rows == 0:
            return
        distances = [np.abs(a[found] - e[found]).reshape(rows, -1) for a, e in zip(batch.rates, equilibria.rates, strict=True)]
        self.solved += rows
        self.distance_max = np.maximum(self.distance_max, [distance.max(initial=0.0) for distance in distances])
        self.distance_sum += [distance.sum() for distance in distances]
        self._scatter(tuple(rate[found] for rate in batch.rates), tuple(rate[found] for rate in equilibria.rates))
        if self.certificate.certified:
            self._judge_distances(batch, found, [r[found] for r in residuals], distances, equilibria.residual[found])
        if self.thresholds.distance_max is not None:
            farthest = np.max([d.max(axis=1) for d in distances], axis=0)
            for row in np.flatnonzero(farthest > self.thresholds.distance_max):
                self.distances_missed += 1
                what = f"a rate is {farthest[row]:.4g} away from the equilibrium, more than the allowed {self.thresholds.distance_max:.4g}"
                self._add_offender(batch, int(found[row]), what)

    def _judge_distances(
        self,
        batch: Batch,
        found: NDArray[np.int64],
        residuals: list[NDArray[np.float64]],
        distances: list[NDArray[np.float64]],
        solver: NDArray[np.float64],
    ) -> None:
        """Check the distances, [N, B] Euclidean lengths: e <= (1 - M)**-1 (r + r*), where r* is the residual that the solver left in a*."""
        lengths = np.array([np.linalg.norm(r.reshape(len(found), -1), axis=1) for r in residuals])
        left = np.array([np.sqrt(layer.size) * solver for layer in self.chip.layers])
        most = self.certificate.distance_bound(lengths + left)
        far = np.array([np.linalg.norm(d, axis=1) for d in distances])
        self.distance_share = max(self.distance_share, float((far / np.maximum(most, np.finfo(float).tiny)).max(initial=0.0)))
        for index, row in zip(*np.nonzero(far > most), strict=True):
            self.too_far += 1
            what = f"||a - a*|| is {far[index, row]:.4g}, but its residual allows at most {most[index, row]:.4g}"
            self._add_offender(batch, int(found[row]), what, self.chip.layers[index].name)

    def _add_offender(self, batch: Batch, row: int, what: str, layer: str | None = None) -> None:
        if len(self.offenders) < OFFENDERS_KEPT:
            where: Offender = {"layer": layer} if layer else {}
            self.offenders.append({"sample": batch.sample(row), **where, "what": what})

    def _scatter(self, rates: Rates, equilibrium: Rates) -> None:
        room = (SCATTER_KEPT - len(self.scatter)) // len(self.chip.layers)
        if room <= 0:
            return
        for index, (rate, target) in enumerate(zip(rates, equilibrium, strict=True)):
            step = max(1, -(-target.size // min(room, SCATTER_KEPT // 4)))
            pairs = zip(target.reshape(-1)[::step], rate.reshape(-1)[::step], strict=True)
            self.scatter += [[index, float(t), float(r)] for t, r in pairs]

    def check(self) -> Check:
        worst, bound = float(self.residual_max.max()), float(self.bound_max.max())
        missed = self._missed()
        numbers = {
            "residual_max": worst,
            "bound_max": bound,
            "above": self.above,
            "too_far": self.too_far,
            "samples": self.samples,
            "solved": self.solved,
            "mapped_again": self.mapped_again,
            "mapped_differently": self.mapped_differently,
            "distance_share_of_bound": self.distance_share if self.certificate.certified and self.solved else None,
            "layers": [self._numbers(index, layer) for index, layer in enumerate(self.chip.layers)],
        }
        series = {"residual_per_sample": self.per_sample, "bound_per_sample": self.bound_per_sample, "rates": self.scatter}
        return Check(
            name="residual",
            link=LINK,
            passed=self.above == 0 and self.too_far == 0 and self.mapped_differently == 0,
            missed=missed,
            summary="; ".join([self._sentence(worst), *self._second_opinion(), *missed]),
            numbers=numbers,
            offenders=tuple(self.offenders),
            series=series,
        )

    def _sentence(self, worst: float) -> str:
        if self.above:
            sentence = f"|f(a) - a| is more than final potentials and late spikes account for in {self.above} neurons x samples (E11)"
        elif self.bounded:
            sentence = f"|f(a) - a| is what final potentials and late spikes account for, at most {worst:.4g} spikes per step (E11)"
        else:
            sentence = f"|f(a) - a| is at most {worst:.4g} spikes per step; reset to zero discards charge, so there is no bound (E11)"
        if self.solved:
            sentence += f"; |a - a*| is at most {self.distance_max.max():.4g} ({self.solved} samples)"
        return f"{sentence}, too far in {self.too_far} cases" if self.too_far else sentence

    def _second_opinion(self) -> list[str]:
        if not self.mapped_differently:
            return []
        return [
            f"f(a) is not the same when it is computed without the sums of the charge check ({self.mapped_differently} neurons x samples)"
        ]

    def _missed(self) -> tuple[str, ...]:
        limits, missed = self.thresholds, []
        if self.residuals_missed:
            missed.append(f"|f(a) - a| must be at most {limits.residual_max:.4g}, which {self.residuals_missed} neurons x samples miss")
        if self.distances_missed:
            missed.append(f"|a - a*| must be at most {limits.distance_max:.4g}, which {self.distances_missed} samples miss")
        if limits.distance_max is not None and not self.solved:
            missed.append(f"|a - a*| must be at most {limits.distance_max:.4g}, but no equilibrium was solved for")
        return tuple(missed)

    @property
    def distance(self) -> float | None:
        """Return the largest |a - a*| of the samples for which a* was found."""
        return float(self.distance_max.max()) if self.solved else None

    def _numbers(self, index: int, layer: Layer) -> dict[str, Any]:
        return {
            "layer": layer.name,
            "residual_max": float(self.residual_max[index]),
            "residual_mean": float(self.residual_sum[index]) / max(1, self.samples * layer.size),
            "bound_max": float(self.bound_max[index]),
            "distance_max": float(self.distance_max[index]),
            "distance_mean": float(self.distance_sum[index]) / max(1, self.solved * layer.size),
        }
