"""Does the feedback contract (E6, E11)? Certified by operator norms, or locally by the Jacobian at the equilibrium, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap, Rates
from fsnn_lava.verify.equilibrium import Point
from fsnn_lava.verify.running_totals import Tally, first, largest, total
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.verdict import Check

LINK = "equilibrium of the integer network"
LOCAL_SAMPLES = 32  # the Jacobian is looked at for so many samples at most
_TURNS = 24  # power iteration: turns around the loop, the first half is thrown away
_LISTED = 3  # samples without an equilibrium that are named
_RANK = {"none": 0, "local": 1, "certified": 2}


class Certificate:
    """The gains M between layers (E11) and what follows from them."""

    def __init__(self, rate_map: RateMap) -> None:
        self.gains = rate_map.gains()
        self.radius = float(np.abs(np.linalg.eigvals(self.gains)).max())
        self.certified = self.radius < 1.0

    def amplification(self) -> NDArray[np.float64]:
        """(1 - M)**-1: from residuals to distances, layer by layer. Only where `certified`. Never below 0, whatever rounding says."""
        return np.maximum(np.linalg.inv(np.eye(len(self.gains)) - self.gains), 0.0)

    def reach(self, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        """[N, B] the largest distances that [N, B] residuals allow, Euclidean per layer; with room for the rounding of float64 sums."""
        return self.amplification() @ residuals * (1 + 1e-9) + 1e-12


def loop_gain(chip: ChipNetwork, gains: NDArray[np.float64]) -> float | None:
    """L: the product of the gains around the loop, where there is exactly one."""
    if len(chip.feedback) != 1:
        return None
    first, last = chip.index(chip.feedback[0].target), chip.index(chip.feedback[0].source)
    forward = [gains[position + 1, position] for position in range(first, last)]
    return float(gains[first, last] * np.prod(forward))


def local_radius(rate_map: RateMap, rates: Rates, drive: NDArray[np.float64]) -> NDArray[np.float64]:
    """[B] spectral radius of the Jacobian of f at `rates`, estimated by power iteration. Only neurons inside (0, 1) pass a change on."""
    chip = rate_map.chip
    thresholds = [layer.per_neuron(layer.threshold).astype(np.float64) for layer in chip.layers]
    currents = rate_map.currents(rates, drive)
    active = [((c > 0) & (c < t)) / t for c, t in zip(currents, thresholds, strict=True)]
    rng = np.random.default_rng(0)
    vector = tuple(rng.random((len(drive), *layer.shape)) for layer in chip.layers)
    turn = len(chip.layers)
    growth = np.zeros(len(drive))
    for step in range(_TURNS * turn):
        vector = _jacobian(rate_map, active, vector)
        length = np.sqrt(sum(np.square(v).reshape(len(drive), -1).sum(axis=1) for v in vector))
        alive = length > np.finfo(float).tiny  # else no active neuron feeds itself: radius 0
        vector = tuple(v / np.where(alive, length, 1.0).reshape(-1, *[1] * (v.ndim - 1)) for v in vector)
        if step >= _TURNS * turn // 2:
            growth += np.log(np.where(alive, length, 1.0))
    return np.where(alive, np.exp(growth / (_TURNS * turn - _TURNS * turn // 2)), 0.0)


def _jacobian(rate_map: RateMap, active: list[NDArray[np.float64]], vector: Rates) -> Rates:
    chip = rate_map.chip
    out = [np.zeros_like(v) for v in vector]
    for synapse in chip.synapses:
        if synapse.source != "input":
            out[chip.index(synapse.target)] += rate_map.apply_synapse(synapse, vector[chip.index(synapse.source)])
    return tuple(a * o for a, o in zip(active, out, strict=True))


class ContractionCheck(Tally):
    """certified, local or none. Fails where no equilibrium could be found to compare with, or where the user asked for more."""

    RULES = {**dict.fromkeys(("solved", "unsolved", "radii"), total), "residual": largest, "offenders": first(_LISTED)}

    def __init__(self, chip: ChipNetwork, certificate: Certificate, thresholds: Thresholds) -> None:
        self.chip, self.certificate, self.thresholds = chip, certificate, thresholds
        self.solved = self.unsolved = 0
        self.residual = 0.0
        self.radii: list[float] = []
        self.offenders: list[dict[str, Any]] = []

    def add(self, offset: int, point: Point, radii: NDArray[np.float64] | None) -> None:
        """Take note of the equilibria of a batch, and of the local radii of some of them."""
        converged = point.converged
        self.solved += int(np.count_nonzero(converged))
        self.unsolved += int(np.count_nonzero(~converged))
        self.residual = max(self.residual, float(point.residual.max(initial=0.0)))
        if radii is not None:
            self.radii += [float(r) for r in radii]
        for row in np.flatnonzero(~converged)[: max(0, _LISTED - len(self.offenders))]:
            what = f"no equilibrium found: |f(a) - a| stays at {point.residual[row]:.3g}"
            self.offenders.append({"sample": offset + int(row), "what": what})

    def state(self) -> str:
        if self.certificate.certified:
            return "certified"
        return "local" if self.unsolved == 0 and self.radii and max(self.radii) < 1.0 else "none"

    def check(self) -> Check:
        state, radius = self.state(), self.certificate.radius
        passed = _RANK[state] >= _RANK[self.thresholds.contraction] and (state != "none" or self.unsolved == 0)
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
            passed=passed,
            summary=self._sentence(state),
            numbers=numbers,
            offenders=tuple(self.offenders),
            series={"local_radii": self.radii},
        )

    def _sentence(self, state: str) -> str:
        radius = self.certificate.radius
        if not self.chip.feedback:
            return "no feedback: there is one equilibrium, and it is reached in one pass"
        if state == "certified":
            return f"certified: the gain per step is at most {radius:.4g} < 1, so there is one equilibrium (E6)"
        bound = f"operator norms only bound the gain by {radius:.3g}"
        if state == "local":
            found = f"at most about {max(self.radii):.3g} < 1 ({len(self.radii)} samples)"
            return f"local: {bound}, but the radius of the Jacobian at the equilibria is {found}"
        if self.unsolved:
            return f"none: {bound}, and for {self.unsolved} of {self.solved + self.unsolved} samples no equilibrium was found"
        if self.radii:
            found = f"about {max(self.radii):.3g}: equilibria exist, but rates need not settle there"
            return f"none: {bound}, and the radius of the Jacobian reaches {found}"
        return f"none: {bound}, and no sample was looked at"
