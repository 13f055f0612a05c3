"""Comparator: takes a run batch by batch, judges every link of the chain separately, and returns one Verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.run_arguments import check_chip
from fsnn_lava.ir.stock_network import executed_network
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.verify.batch import Batch, check_batch_shapes
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.bounds.charge_rounding import charge_rounding_tolerance
from fsnn_lava.verify.check import Check, not_done
from fsnn_lava.verify.checks.accuracy import AccuracyCheck
from fsnn_lava.verify.checks.certificate import CertificateCheck
from fsnn_lava.verify.checks.charge import ChargeCheck
from fsnn_lava.verify.checks.contraction import ContractionCheck
from fsnn_lava.verify.checks.dead_band import DeadBandCheck
from fsnn_lava.verify.checks.delta_record import DeltaRecordCheck
from fsnn_lava.verify.checks.delta_residual import DeltaResidualCheck
from fsnn_lava.verify.checks.delta_settling import DeltaSettlingCheck
from fsnn_lava.verify.checks.float_spikes import LINK as FLOAT_LINK
from fsnn_lava.verify.checks.float_spikes import FloatSpikesCheck
from fsnn_lava.verify.checks.messages import MessagesCheck
from fsnn_lava.verify.checks.record import RecordCheck
from fsnn_lava.verify.checks.residual import ResidualCheck
from fsnn_lava.verify.checks.settling import SettlingCheck
from fsnn_lava.verify.checks.shift import LINK as SHIFT_LINK
from fsnn_lava.verify.checks.shift import ShiftCheck
from fsnn_lava.verify.checks.spikes import SpikesCheck
from fsnn_lava.verify.checks.sums import SumsCheck
from fsnn_lava.verify.equilibrium import solve_equilibria
from fsnn_lava.verify.float_network import FloatNetwork
from fsnn_lava.verify.merged_findings import MergedFindings
from fsnn_lava.verify.sampling import Sampling, certified_samples, referenced_samples, solved_samples
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.verdict import About, JudgedRun, Verdict

BATCH_SAMPLES = 512  # at most this many are compared together
BATCH_BYTES = 2**22  # at most, with one float64 per neuron and sample: more does not fit in the processor's cache


class Comparator:
    """`add` every batch of a run, then ask for the `verdict`. Memory does not grow with the run, except for a few numbers per sample.

    Args:
        chip: the network that was exported.
        model: the float network from which it was made; adds the checks "float" and "shift", and the agreement.
        thresholds: what the run must achieve beyond the bounds of the equations.
        graph: "stock" if the run used the stock equivalent of the network.
        equilibrium_samples: solve for a* of this many samples from the start of the run, and certify only those. Default: samples spread
            over the run, as many as take a fraction of its own work (`fsnn_lava.verify.sampling`).
        from_file: the results were read from a file, which may say anything: a run on the emulator is repeated in full, like any other.
    """

    def __init__(
        self,
        chip: ChipNetwork,
        *,
        model: FSNN | None = None,
        thresholds: Thresholds | None = None,
        graph: str = "",
        equilibrium_samples: int | None = None,
        from_file: bool = False,
    ) -> None:
        self.digest = chip.digest()
        self.chip = executed_network(chip, graph)
        self.tolerance = charge_rounding_tolerance(self.chip, graph)
        self.thresholds, self.graph = thresholds or Thresholds(), graph
        self.equilibrium_samples = equilibrium_samples
        self.rate_map = RateMap(self.chip)
        certificate = Certificate(self.rate_map)
        self.contraction = ContractionCheck(self.chip, certificate, self.thresholds)
        self.certificate = CertificateCheck(self.rate_map, certificate)
        self._choose_checks(certificate)
        self.spikes.from_file = from_file
        self.accuracy = AccuracyCheck(self.chip, self.thresholds)
        self.network = FloatNetwork(model, chip) if model is not None else None
        self.float_spikes = FloatSpikesCheck(self.network) if self.network and chip.delta is None else None
        self.shift = ShiftCheck(chip, self.network, self.rate_map, certificate, self.thresholds) if self.network else None
        self.batch_size = max(1, min(BATCH_SAMPLES, BATCH_BYTES // (8 * sum(layer.size for layer in chip.layers))))
        self.samples = 0
        self.about: About = {}

    def _choose_checks(self, certificate: Certificate) -> None:
        """Choose the checks that depend on the encoding: of what a backend received and sent, and of the resulting rates."""
        chip, delta, stock = self.chip, self.chip.delta, self.graph == "stock"
        self.record = RecordCheck(chip, stock=stock) if delta is None else DeltaRecordCheck(chip, stock=stock)
        self.charge: ChargeCheck | SumsCheck
        self.spikes: SpikesCheck | MessagesCheck
        self.settling: SettlingCheck | DeltaSettlingCheck
        if delta is None:
            emulator = Emulator(chip, stock=stock)
            spikes = SpikesCheck(chip, stock=stock, emulator=emulator)
            self.charge, self.spikes, self.band = ChargeCheck(chip), spikes, None
            self.residual = ResidualCheck(chip, certificate, self.thresholds)
            self.settling = SettlingCheck(chip, emulator, self.thresholds)
        else:
            self.charge, self.spikes, self.band = SumsCheck(chip), MessagesCheck(chip, stock=stock), DeadBandCheck(chip, stock=stock)
            self.residual = DeltaResidualCheck(chip, certificate, self.thresholds)
            self.settling = DeltaSettlingCheck(chip, delta, self.thresholds)

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None, *, offset: int | None = None) -> None:
        """Compare some samples of the run; if there are more than `batch_size`, they are compared in several batches.

        Args:
            result: the results that the backend returned.
            values: the raw input of these samples, as given to `run`.
            labels: [B]; negative if unknown.
            offset: index of the first sample in the run (default: the one after those added so far).
        """
        values = np.asarray(values)
        labels = None if labels is None else np.asarray(labels)
        self._check_origin(result)
        if len(values) != result.samples:
            raise BadArgument(f"the result has {result.samples} samples, but values has {len(values)}")
        if labels is not None and labels.shape != (result.samples,):
            raise BadArgument(f"labels must be one per sample, [{result.samples}], got {list(labels.shape)}")
        if labels is not None and labels.dtype.kind not in "iu":
            raise BadArgument(f"labels must be class numbers (integers), got {labels.dtype}")
        check_batch_shapes(self.chip, result, values)
        offset = self.samples if offset is None else offset
        for start in range(0, result.samples, self.batch_size):
            rows = slice(start, start + self.batch_size)
            self._add_batch(
                Batch(
                    chip=self.chip,
                    result=result.part(rows),
                    values=values[rows],
                    labels=None if labels is None else labels[rows],
                    offset=offset + start,
                    tolerance=self.tolerance,
                )
            )
        self._add_totals(result)

    def _add_batch(self, batch: Batch) -> None:
        """Run the checks on every sample, then those on some samples."""
        self.charge.add(batch)
        if self.band is not None:
            self.band.add(batch)
        self.residual.add(batch, batch.mapped)
        self.settling.add(batch, batch.mapped)
        self.record.add(batch, batch.mapped)
        self.spikes.add(batch)
        self.accuracy.add(batch, self.network.answers(batch.values, batch.steps) if self.network else None)
        self._map_again(batch)
        self._solve(batch)
        self.samples += batch.samples

    def _map_again(self, batch: Batch) -> None:
        """Compute f(a) of some samples a second time, without the sums that the charge check also uses."""
        rows = referenced_samples(self.chip, batch.steps).rows(batch.offset, batch.samples)
        if len(rows):
            some = batch.at(rows)
            self.residual.add_again(some, self.rate_map.apply(some.rates, self.rate_map.drive(some.values)))

    def _solve(self, batch: Batch) -> None:
        """Solve for a* of some samples, run the checks that need it, and certify some of these samples."""
        rows = self._solved(batch.steps).rows(batch.offset, batch.samples)
        if not len(rows):
            return
        some = batch.at(rows)
        equilibria = solve_equilibria(self.rate_map, some.drive, some.rates)
        examined = np.flatnonzero(np.isin(rows, self._certified(batch.steps).rows(batch.offset, batch.samples)))
        radii = self.certificate.add(some.at(examined), equilibria.at(examined)) if len(examined) else None
        self.contraction.add(some, equilibria, None if self.contraction.certificate.certified else radii)
        self.residual.add_equilibria(some, equilibria)
        if self.network and self.shift:
            exact = self.network.solve(some.values)
            if self.float_spikes is not None:
                self.float_spikes.add(some, exact)
            self.shift.add(some, equilibria, exact, some.drive)

    def _certified(self, steps: int) -> Sampling:
        """Return the samples to certify; if equilibria were asked for, at least one of them."""
        sampling = certified_samples(self.chip, steps)
        return sampling if self.equilibrium_samples is None else Sampling(max(1, sampling.first))

    def _solved(self, steps: int) -> Sampling:
        return solved_samples(self.chip, steps) if self.equilibrium_samples is None else Sampling(self.equilibrium_samples)

    def add_answers(self, answers: NDArray[np.int64], labels: NDArray[np.int64]) -> None:
        """Add samples of the run that were stored with their answers only.

        Args:
            answers: [B], the recorded classes; they are counted separately, because they cannot be verified.
            labels: [B]; negative if unknown.
        """
        self.accuracy.add_rows(answers, labels)

    def verdict(self) -> Verdict:
        """Return the verdict on everything added so far.

        Raises:
            BadArgument: nothing was added.
        """
        if self.samples == 0:
            raise BadArgument("nothing to compare: no sample was added")
        missing = "no model was given (--model model.pt)"
        settled = self.settling.settled(distance=self.residual.distance, without=self.contraction.unsolved)
        checks: list[Check] = [
            self.float_spikes.check() if self.float_spikes else not_done("float", FLOAT_LINK, self._without_spikes() or missing),
            self.shift.check() if self.shift else not_done("shift", SHIFT_LINK, missing),
            self.contraction.check(),
            self.certificate.check(),
            self.residual.check(),
            self.record.check(),
            self.charge.check(),
            *([] if self.band is None else [self.band.check()]),
            self.spikes.check(),
            self.settling.check(settled),
            self.accuracy.check(),
        ]
        about: About = {**self.about, "samples": self.samples}
        return Verdict(checks=tuple(checks), about=about, settled=settled, accurate=self.accuracy.accurate())

    def _without_spikes(self) -> str:
        return "" if self.chip.delta is None else "the run sends changes of rates, not spikes"

    def hand_over(self) -> dict[str, Any]:
        """Return everything found so far, in JSON types, and empty the comparator."""
        found = {"samples": self.samples, "about": self.about, "checks": {n: t.hand_over() for n, t in self._totals().items()}}
        self.samples, self.about = 0, {}
        return found

    def take_in(self, found: Any) -> None:
        """Merge the findings of another comparator of this run on later samples.

        Args:
            found: from its `hand_over`.

        Raises:
            BadFile: the data is damaged.
        """
        try:
            self.samples += int(found["samples"])
            about: About = found["about"]
            self.about = {
                **about,
                "seconds": about["seconds"] + self.about.get("seconds", 0),
                "operations": about["operations"] + self.about.get("operations", 0),
                "updates": about["updates"] + self.about.get("updates", 0),
                "spikes": about["spikes"] + self.about.get("spikes", 0),
            }
            for name, totals in self._totals().items():
                totals.take_in(found["checks"][name])
            self.verdict().to_text()  # so that damaged data fails here, not after the run
        except (TypeError, KeyError, ValueError, IndexError, AttributeError, StopIteration) as error:
            raise BadFile(f"the record of a comparison is damaged: {type(error).__name__} {error}") from error

    def _totals(self) -> dict[str, MergedFindings]:
        checks = {
            "float": self.float_spikes,
            "shift": self.shift,
            "contraction": self.contraction,
            "certificate": self.certificate,
            "residual": self.residual,
            "record": self.record,
            "charge": self.charge,
            "dead band": self.band,
            "spikes": self.spikes,
            "settled": self.settling,
            "accuracy": self.accuracy,
        }
        return {name: check for name, check in checks.items() if check is not None}

    def _check_origin(self, result: Result) -> None:
        if result.digest not in {self.digest, self.chip.digest()}:
            raise BadArgument(f"the results belong to network {result.digest[:12]}, not to this one, {self.digest[:12]}")
        if (result.graph == "stock") != (self.graph == "stock"):
            raise BadArgument(f"the results come from graph {result.graph!r}, but the comparator was made for {self.graph!r}")
        if self.about and (self.about["steps"], self.about["backend"]) != (result.steps, result.backend):
            raise BadArgument(
                f"all batches of a run must share backend and steps: they were {self.about['backend']} and {self.about['steps']}, "
                f"now {result.backend} and {result.steps}"
            )

    def _add_totals(self, result: Result) -> None:
        before = self.about
        self.about = {
            "backend": result.backend,
            "graph": before.get("graph", result.graph),
            "steps": result.steps,
            "digest": self.digest,
            "seconds": before.get("seconds", 0) + result.seconds,
            "operations": before.get("operations", 0) + int(result.operations.sum()),
            "updates": before.get("updates", 0) + int(result.updates.sum()),
            "spikes": before.get("spikes", 0) + sum(int(counts.sum()) for counts in result.counts),
        }


def compare(
    result: Result,
    chip: ChipNetwork,
    values: NDArray[np.uint8],
    *,
    labels: NDArray[np.int64] | None = None,
    model: FSNN | None = None,
    thresholds: Thresholds | None = None,
) -> Verdict:
    """Compare a whole run: is what ran still the network that was exported and, with `model`, the one that was trained?

    The comparator uses the integers of `chip` and the equations, not the backend. For a run that does not fit into memory, add its
    batches to a `fsnn_lava.verify.comparator.Comparator`.

    Args:
        result: the Result that `run` returned.
        chip: the network that was exported, not one quantised again with different options.
        values: the raw input of the run, [B, *shape], or [B, T, *shape] of events.
        labels: int64 [B], for the accuracy; negative if unknown. Without labels, the accuracy is not checked.
        model: the float network from which `chip` was made; adds the checks "float" and "shift", and the agreement.
        thresholds: what the run must achieve beyond the bounds of the equations; by default nothing.

    Returns:
        The verdict: `faithful` (every check that was done passed), `settled` and `accurate` (measured), and `passed`, which also takes
        the thresholds into account.

    Raises:
        BadArgument: `result`, `chip`, `values`, `labels` or `model` do not belong together.

    Examples:
        >>> verdict = fl.compare(result, chip, pixels, model=net)
        >>> verdict.faithful
        True
        >>> verdict.to_html("report.html")
    """
    check_chip(chip)
    if not isinstance(result, Result):
        raise BadArgument(f"result must be the Result of a run, got {type(result).__name__}; pass what run(chip, values) returns")
    comparator = Comparator(chip, model=model, thresholds=thresholds, graph=result.graph)
    comparator.add(result, values, labels)
    return replace(comparator.verdict(), run=JudgedRun(chip=chip, result=result, values=values, labels=labels, model=model))
