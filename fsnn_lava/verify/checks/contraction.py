"""Check whether the feedback contracts (E6, E11): certified by norms, shown at the equilibria by the loop's derivative, or neither."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.bounds.local_certificate import FAILURE, POWERS
from fsnn_lava.verify.bounds.loop_gains import loop_gain
from fsnn_lava.verify.check import Check, Offender
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_largest, merge_total
from fsnn_lava.verify.thresholds import Contraction, Thresholds

LINK = "equilibrium of the integer network"
_LISTED = 3  # samples without an equilibrium that are listed
_RANK: dict[Contraction, int] = {"none": 0, "local": 1, "certified": 2}


class ContractionCheck(MergedFindings):
    """Whether the network contracts: certified, local or none. It is a property of the network and fails only if the user requires more."""

    RULES = {**dict.fromkeys(("solved", "unsolved", "radii"), merge_total), "residual": merge_largest, "offenders": merge_first(_LISTED)}

    def __init__(self, chip: ChipNetwork, certificate: Certificate, thresholds: Thresholds) -> None:
        self.chip, self.certificate, self.thresholds = chip, certificate, thresholds
        self.solved = self.unsolved = 0
        self.residual = 0.0
        self.radii: list[float] = []
        self.offenders: list[Offender] = []

    def add(self, batch: Batch, equilibria: Equilibria, radii: NDArray[np.float64] | None) -> None:
        """Add the equilibria of a batch and, for some of them, upper bounds on the spectral radius of the loop's derivative (E18)."""
        converged = equilibria.converged
        self.solved += int(np.count_nonzero(converged))
        self.unsolved += int(np.count_nonzero(~converged))
        self.residual = max(self.residual, float(equilibria.residual.max(initial=0.0)))
        if radii is not None:
            self.radii += [float(r) for r in radii]
        for row in np.flatnonzero(~converged)[: max(0, _LISTED - len(self.offenders))]:
            what = f"no equilibrium found: |f(a) - a| stays at {equilibria.residual[row]:.3g}"
            self.offenders.append({"sample": batch.sample(row), "what": what})

    def state(self) -> Contraction:
        """Return how contraction is shown: "certified", "local" (at the equilibria found), or "none"."""
        if self.certificate.certified:
            return "certified"
        return "local" if self.unsolved == 0 and self.radii and max(self.radii) < 1.0 else "none"

    def check(self) -> Check:
        """Return the finding on the contraction."""
        state, radius, wanted = self.state(), self.certificate.radius, self.thresholds.contraction
        missed = () if _RANK[state] >= _RANK[wanted] else (f"contraction must be {wanted}",)
        numbers = {
            "state": state,
            "spectral_radius": radius,
            "loop_gain": loop_gain(self.chip, self.certificate.gains),
            "gains": self.certificate.gains,
            "local_radius": max(self.radii, default=None),
            "solved": self.solved,
            "unsolved": self.unsolved,
            "solver_residual": self.residual,
        }
        return Check(
            name="contraction",
            link=LINK,
            passed=True,
            missed=missed,
            judges=wanted != "none",
            summary="; ".join([self._sentence(state), *missed]),
            numbers=numbers,
            offenders=tuple(self.offenders),
            series={"local_radii": self.radii},
        )

    def _sentence(self, state: Contraction) -> str:
        radius = self.certificate.radius
        if not self.chip.feedback:
            return "no feedback: the equilibrium is unique and is reached in one pass"
        if state == "certified":
            return f"certified: the spectral radius of the layer gains is at most {radius:.4g} < 1, so the equilibrium is unique (E6)"
        bound = f"the operator norms only bound the spectral radius by {radius:.3g}"
        largest = max(self.radii, default=0.0)
        sure = f"each except with probability {FAILURE * 2 * len(POWERS):.0e} (E18)"
        if state == "local":
            found = f"at most {largest:.3g} < 1 once around the loop ({len(self.radii)} samples, {sure})"
            return f"local: {bound}, but at the equilibria that of the derivative is {found}"
        if self.unsolved:
            return f"none: {bound}, and no equilibrium was found for {self.unsolved} of {self.solved + self.unsolved} samples"
        if self.radii:
            found = f"by {largest:.3g} once around the loop ({sure}): equilibria exist, but the rates need not settle there"
            return f"none: {bound}, and at the equilibria that of the derivative is only bounded {found}"
        return f"none: {bound}, and the derivative was not examined for any sample"
