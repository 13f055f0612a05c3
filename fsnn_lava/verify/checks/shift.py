"""Check the quantisation shift (E12): how far the integer equilibrium is from the float one, and that every integer is a rounded float."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import Drive, RateMap
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, Offender
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.float_network import FloatNetwork
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_largest, merge_total
from fsnn_lava.verify.rounded_parameters import rounded_parameter_errors
from fsnn_lava.verify.thresholds import Thresholds

LINK = "float equilibrium → integer equilibrium"


class ShiftCheck(MergedFindings):
    """Checks that ||a*_q - a*|| is within (1 - M_q)**-1 ||f_q(a*) - a*||, per layer, if certified, and every integer is a rounded float."""

    RULES = {
        **dict.fromkeys(("samples", "above", "shifts_missed"), merge_total),
        **dict.fromkeys(("share", "shift_max", "defect_max"), merge_largest),
        "offenders": merge_first(OFFENDERS_KEPT),
    }

    def __init__(
        self, chip: ChipNetwork, network: FloatNetwork, rate_map: RateMap, certificate: Certificate, thresholds: Thresholds
    ) -> None:
        self.chip, self.rate_map, self.certificate, self.thresholds = chip, rate_map, certificate, thresholds
        self.rounding = rounded_parameter_errors(chip, network.folded)
        self.samples = self.above = self.shifts_missed = 0
        self.share = 0.0
        self.shift_max, self.defect_max = np.zeros(len(chip.layers)), np.zeros(len(chip.layers))
        self.offenders: list[Offender] = []

    def add(self, batch: Batch, integer: Equilibria, exact: Equilibria, drive: Drive) -> None:
        """Add a batch; `integer` is a*_q, `exact` is a*, for its samples, and `drive` is that of the integer network."""
        found = np.flatnonzero(integer.converged & exact.converged)
        rows = len(found)
        if rows == 0:
            return
        mapped = self.rate_map.apply(exact.rates, drive)
        shifts = [np.abs(q - a)[found].reshape(rows, -1) for q, a in zip(integer.rates, exact.rates, strict=True)]
        defects = [np.abs(f - a)[found].reshape(rows, -1) for f, a in zip(mapped, exact.rates, strict=True)]
        self.shift_max = np.maximum(self.shift_max, [shift.max(initial=0.0) for shift in shifts])
        self.defect_max = np.maximum(self.defect_max, [defect.max(initial=0.0) for defect in defects])
        self.samples += rows
        if self.certificate.certified:
            self._judge(batch, found, shifts, defects, integer.residual[found])
        limit = self.thresholds.shift_max
        if limit is not None:
            largest = np.max([shift.max(axis=1) for shift in shifts], axis=0)
            for row in np.flatnonzero(largest > limit):
                self.shifts_missed += 1
                what = f"a rate of the equilibrium shifts by {largest[row]:.4g}, more than the allowed {limit:.4g}"
                self._add_offender(batch, int(found[row]), what)

    def _judge(
        self,
        batch: Batch,
        found: NDArray[np.int64],
        shifts: list[NDArray[np.float64]],
        defects: list[NDArray[np.float64]],
        solver: NDArray[np.float64],
    ) -> None:
        """Check the shift, [N, B] Euclidean lengths; the residual that the solver left in a*_q is added to the defect."""
        far, start = (np.array([np.linalg.norm(part, axis=1) for part in parts]) for parts in (shifts, defects))
        left = np.array([np.sqrt(layer.size) * solver for layer in self.chip.layers])
        most = self.certificate.distance_bound(start + left)
        self.share = max(self.share, float((far / np.maximum(most, np.finfo(float).tiny)).max(initial=0.0)))
        for index, row in zip(*np.nonzero(far > most), strict=True):
            what = f"||a*_q - a*|| is {far[index, row]:.4g}, but E12 allows at most {most[index, row]:.4g}"
            self.above += 1
            self._add_offender(batch, int(found[row]), what, self.chip.layers[index].name)

    def _add_offender(self, batch: Batch, row: int, what: str, layer: str | None = None) -> None:
        if len(self.offenders) < OFFENDERS_KEPT:
            where: Offender = {"layer": layer} if layer else {}
            self.offenders.append({"sample": batch.sample(row), **where, "what": what})

    def check(self) -> Check:
        """Return the finding on the shift of the equilibrium."""
        wrong, farthest = self.rounding.wrong, float(self.shift_max.max())
        if wrong:
            first = wrong[0]["what"]
            summary = f"the network is not this model rounded to integers: {self.rounding.number} parameters do not match, first {first}"
        elif self.above:
            summary = f"quantisation shifts the equilibrium further than E12 allows in {self.above} cases"
        elif self.samples == 0:
            summary = "every integer is the rounding of its float; no equilibria were found to compare, so the shift is unknown"
        else:
            bound = f", {self.share:.0%} of what E12 allows" if self.certificate.certified else " (not certified, so E12 gives no bound)"
            summary = f"quantisation shifts the equilibrium by at most {farthest:.4g} spikes per step{bound} ({self.samples} samples)"
        numbers = {
            "samples": self.samples,
            "shift_max": farthest,
            "share_of_bound": self.share if self.certificate.certified else None,
            "above": self.above,
            "off_grid": self.rounding.number,
            "grid": self.rounding.synapses,
            "layers": [
                {"layer": layer.name, "shift_max": float(shift), "defect_max": float(defect)}
                for layer, shift, defect in zip(self.chip.layers, self.shift_max, self.defect_max, strict=True)
            ],
        }
        limit = self.thresholds.shift_max
        missed = () if limit is None or (self.samples and not self.shifts_missed) else (f"the shift must be at most {limit:.4g}",)
        return Check(
            name="shift",
            link=LINK,
            passed=self.above == 0 and not wrong,
            missed=missed,
            summary="; ".join([summary, *missed]),
            numbers=numbers,
            offenders=(*wrong, *self.offenders)[:OFFENDERS_KEPT],
        )
