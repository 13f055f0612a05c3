"""Check which samples have a certificate (E18) of an equilibrium near their rates: a bound on its distance, and a radius of uniqueness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.bounds.local_certificate import FAILURE, LocalCertifier
from fsnn_lava.verify.check import Check, not_done
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.merged_findings import MergedFindings, merge_total
from fsnn_lava.verify.sampling import multiplications_per_sample, takes_long_to_certify

LINK = "equilibrium of the integer network"
_LARGEST_WORK = 2e10  # maximal number of multiplications for the two certificates of one sample

Floats = NDArray[np.float64]


class CertificateCheck(MergedFindings):
    """Never fails, since a sample without a certificate may be just as good. Its statements hold except with the stated probability.

    Three methods are tried for each sample, and the smallest bound counts: the gains of the whole network (E11), the derivative of the
    loop with the neurons that were active in the run, and the derivative at the equilibrium that was solved for.
    """

    RULES = dict.fromkeys(("samples", "certified", "norms", "at_run", "run_norms", "bounds", "global_bounds", "unique_radii"), merge_total)

    def __init__(self, rate_map: RateMap, certificate: Certificate) -> None:
        self.chip, self.certificate = rate_map.chip, certificate
        passes = int(_LARGEST_WORK // (2 * multiplications_per_sample(self.chip)))
        self.certifier = LocalCertifier(rate_map, passes=passes) if self.chip.feedback else None
        self.samples = self.certified = self.at_run = self.norms = 0
        self.run_norms: list[float] = []  # bounds of ||J|| on the run's own active neurons, per sample
        self.bounds: list[float] = []  # of ||a - a*|| over all neurons, per certified sample
        self.global_bounds: list[float] = []  # the same from the gains alone, if they certify the network
        self.unique_radii: list[float] = []  # only finite radii

    def add(self, batch: Batch, equilibria: Equilibria) -> Floats | None:
        """Examine samples whose equilibria were solved for.

        Returns upper bounds on the spectral radius of the loop's derivative there, [B]; None without feedback.
        """
        if self.certifier is None:
            return None
        rows, rates, drive = batch.samples, batch.rates, batch.drive
        numbers = np.array([batch.sample(row) for row in range(rows)])
        at_run = self.certifier.certify(rates, rates, drive, samples=numbers, powers=(1,))
        solved = self.certifier.certify(equilibria.rates, rates, drive, samples=numbers)
        by_gains = self._by_gains(batch)
        local = np.minimum(_over_layers(at_run.distance), _over_layers(solved.distance))
        bound = np.minimum(local, by_gains)
        unique = np.where(solved.certified, solved.unique_radius, at_run.unique_radius)
        if self.certificate.certified:
            unique = np.full(rows, np.inf)
        found = np.isfinite(bound)
        self.samples += rows
        self.certified += int(np.count_nonzero(found))
        self.at_run += int(np.count_nonzero(at_run.certified))
        self.norms += at_run.norms + solved.norms
        self.run_norms += [float(norm) for norm in at_run.norm]
        self.bounds += [float(number) for number in bound[found]]
        self.global_bounds += [float(number) for number in by_gains[np.isfinite(by_gains)]]
        self.unique_radii += [float(number) for number in unique[found & np.isfinite(unique)]]
        return solved.spectral_radius

    def _by_gains(self, batch: Batch) -> Floats:
        """Return the bound of E11 over all layers, [B]; infinite if the gains do not certify the network."""
        if not self.certificate.certified:
            return np.full(batch.samples, np.inf)
        gaps = [(f - a).reshape(batch.samples, -1) for f, a in zip(batch.mapped, batch.rates, strict=True)]
        return _over_layers(self.certificate.distance_bound(np.array([np.linalg.norm(gap, axis=1) for gap in gaps])))

    @property
    def failure(self) -> float:
        """An upper bound on the probability that any of the norms is wrong."""
        return self.norms * FAILURE

    def check(self) -> Check:
        """Return the finding on the certificates."""
        if self.certifier is None:
            return not_done("certificate", LINK, "no feedback: the equilibrium is unique and is reached in one pass")
        if self.samples == 0 and takes_long_to_certify(self.chip):
            return not_done("certificate", LINK, "a network of this size takes too long to certify; fsnn-compare --equilibria 1 does it")
        if self.samples == 0:
            return not_done("certificate", LINK, "no equilibrium was solved for")
        numbers = {
            "samples": self.samples,
            "certified": self.certified,
            "certified_at_run": self.at_run,
            "distance_bound": max(self.bounds, default=None),
            "global_distance_bound": max(self.global_bounds, default=None),
            "unique_radius": min(self.unique_radii, default=None),
            "run_norm": max(self.run_norms),
            "failure_probability": self.failure,
        }
        series = {"distance_bounds": self.bounds, "run_norms": self.run_norms}
        return Check(name="certificate", link=LINK, passed=True, judges=False, summary=self._sentence(), numbers=numbers, series=series)

    def _sentence(self) -> str:
        norm = f"one pass around the loop, with the neurons active in the run, amplifies changes by at most {max(self.run_norms):.3g}"
        sure = f"all of this holds except with probability {self.failure:.0e} (E18)"
        if not self.certified:
            examined = "the one sample examined does not have" if self.samples == 1 else f"none of the {self.samples} samples examined has"
            return f"{examined} a certified equilibrium; {norm}; {sure}"
        alone = f", unique within {min(self.unique_radii):.3g}" if self.unique_radii else ", which is unique"
        many = f"{self.certified} of {self.samples} samples examined have a certified equilibrium{alone}"
        return f"{many}: ||a - a*|| over all neurons is at most {max(self.bounds):.4g}; {norm}; {sure}"


def _over_layers(distances: Floats) -> Floats:
    """Return the Euclidean norm over the layers of [N, B], [B]."""
    return np.sqrt(np.square(distances).sum(axis=0))
