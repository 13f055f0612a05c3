"""Quantisation shift against E12: how far the integer network's equilibrium is from the float one's, and whether the integers round it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.checks.contraction import Certificate
from fsnn_lava.verify.equilibrium import Point
from fsnn_lava.verify.float_network import FloatNetwork, FloatPoint
from fsnn_lava.verify.rounded_parameters import off_grid
from fsnn_lava.verify.running_totals import Tally, first, largest, total
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.verdict import OFFENDERS_KEPT, Check

LINK = "float equilibrium → integer equilibrium"


class ShiftCheck(Tally):
    """||a*_q - a*|| within (1 - M_q)**-1 ||f_q(a*) - a*||, layer by layer, where certified; and every integer a rounding of its float."""

    RULES = {
        **dict.fromkeys(("samples", "above"), total),
        **dict.fromkeys(("share", "shift_max", "defect_max"), largest),
        "offenders": first(OFFENDERS_KEPT),
    }

    def __init__(
        self, chip: ChipNetwork, network: FloatNetwork, rate_map: RateMap, certificate: Certificate, thresholds: Thresholds
    ) -> None:
        self.chip, self.rate_map, self.certificate, self.thresholds = chip, rate_map, certificate, thresholds
        self.wrong, self.grid = off_grid(chip, network.folded)
        self.samples = self.above = 0
        self.share = 0.0
        self.shift_max, self.defect_max = np.zeros(len(chip.layers)), np.zeros(len(chip.layers))
        self.offenders: list[dict[str, Any]] = []

    def add(self, batch: Batch, ours: Point, point: FloatPoint, drive: NDArray[np.float64]) -> None:
        """`ours` is a*_q, `point` a*, of the same samples; `drive` that of the integer network."""
        rows = len(ours.residual)
        mapped = self.rate_map.apply(point.rates, drive)
        shifts = [np.abs(q - a).reshape(rows, -1) for q, a in zip(ours.rates, point.rates, strict=True)]
        defects = [np.abs(f - a).reshape(rows, -1) for f, a in zip(mapped, point.rates, strict=True)]
        self.shift_max = np.maximum(self.shift_max, [shift.max(initial=0.0) for shift in shifts])
        self.defect_max = np.maximum(self.defect_max, [defect.max(initial=0.0) for defect in defects])
        self.samples += rows
        if self.certificate.certified:
            self._judge(batch, shifts, defects, ours.residual)
        limit = self.thresholds.shift_max
        if limit is not None:
            largest = np.max([shift.max(axis=1) for shift in shifts], axis=0)
            for row in np.flatnonzero(largest > limit):
                self._offend(batch, int(row), f"a rate of the equilibrium moved by {largest[row]:.4g}, more than {limit:.4g}")

    def _judge(
        self, batch: Batch, shifts: list[NDArray[np.float64]], defects: list[NDArray[np.float64]], solver: NDArray[np.float64]
    ) -> None:
        """[N, B] lengths; what the solver left in a*_q counts as its own residual."""
        far, start = (np.array([np.linalg.norm(part, axis=1) for part in parts]) for parts in (shifts, defects))
        left = np.array([np.sqrt(layer.size) * solver for layer in self.chip.layers])
        most = self.certificate.reach(start + left)
        self.share = max(self.share, float((far / np.maximum(most, np.finfo(float).tiny)).max(initial=0.0)))
        for index, row in zip(*np.nonzero(far > most), strict=True):
            self._offend(
                batch, int(row), f"||a*_q - a*|| is {far[index, row]:.4g}, E12 allows {most[index, row]:.4g}", self.chip.layers[index].name
            )

    def _offend(self, batch: Batch, row: int, what: str, layer: str | None = None) -> None:
        self.above += 1
        if len(self.offenders) < OFFENDERS_KEPT:
            self.offenders.append({"sample": batch.sample(row), **({"layer": layer} if layer else {}), "what": what})

    def check(self) -> Check:
        passed, farthest = self.above == 0 and not self.wrong, float(self.shift_max.max())
        if self.wrong:
            first = self.wrong[0]["what"]
            summary = f"the network is not a rounding of this model: {len(self.wrong)} parameters are off their grid, first {first}"
        elif self.above:
            summary = f"the equilibrium moved further than allowed in {self.above} cases (E12)"
        else:
            bound = f", {self.share:.0%} of what E12 allows" if self.certificate.certified else " (not certified: E12 gives no bound)"
            summary = f"integers move the equilibrium by at most {farthest:.4g} spikes per step{bound} ({self.samples} samples)"
        numbers = {
            "samples": self.samples,
            "shift_max": farthest,
            "share_of_bound": self.share if self.certificate.certified else None,
            "above": self.above,
            "off_grid": len(self.wrong),
            "grid": self.grid,
            "layers": [
                {"layer": layer.name, "shift_max": float(shift), "defect_max": float(defect)}
                for layer, shift, defect in zip(self.chip.layers, self.shift_max, self.defect_max, strict=True)
            ],
        }
        offenders = (*self.wrong, *self.offenders)[:OFFENDERS_KEPT]
        return Check(name="shift", link=LINK, passed=passed, summary=summary, numbers=numbers, offenders=offenders)
