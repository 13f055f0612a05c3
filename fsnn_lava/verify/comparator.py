"""Comparator: takes a run batch by batch, judges every link of the chain by itself, and gives one Verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import atrlif_error, executed
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.checks.accuracy import AccuracyCheck
from fsnn_lava.verify.checks.charge import ChargeCheck
from fsnn_lava.verify.checks.contraction import LOCAL_SAMPLES, Certificate, ContractionCheck, local_radius
from fsnn_lava.verify.checks.float_spikes import LINK as FLOAT_LINK
from fsnn_lava.verify.checks.float_spikes import FloatSpikesCheck
from fsnn_lava.verify.checks.residual import ResidualCheck
from fsnn_lava.verify.checks.shift import LINK as SHIFT_LINK
from fsnn_lava.verify.checks.shift import ShiftCheck
from fsnn_lava.verify.checks.spikes import SpikesCheck
from fsnn_lava.verify.equilibrium import Point, affordable_samples, solve
from fsnn_lava.verify.float_network import FloatNetwork
from fsnn_lava.verify.running_totals import Tally
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.verdict import Check, Verdict, not_done

SAMPLES_MAX = 64  # that are looked at together
BYTES_MAX = 2**25  # of one number per neuron for all of them
_SUMS = ("seconds", "operations", "updates", "spikes")  # of what a verdict says about its run


class Comparator:
    """`add` every batch of a run, then ask for the `verdict`. Memory does not grow with the run but for a few numbers per sample."""

    def __init__(
        self,
        chip: ChipNetwork,
        *,
        model: FSNN | None = None,
        thresholds: Thresholds | None = None,
        graph: str = "",
        equilibrium_samples: int | None = None,
    ) -> None:
        """`chip` is the network that was exported; `graph` "stock" says that the run used its stock equivalent.

        a* is solved for the first `equilibrium_samples` only (by default as many as its size allows); all else is looked at for all.
        """
        self.digest = chip.digest()
        self.chip = executed(chip, graph)
        self.tolerance = own_rounding(self.chip, graph)
        self.thresholds, self.graph = thresholds or Thresholds(), graph
        self.equilibrium_samples = affordable_samples(chip) if equilibrium_samples is None else equilibrium_samples
        self.radius_samples = max(1, min(LOCAL_SAMPLES, self.equilibrium_samples // 8))
        self.rate_map = RateMap(self.chip)
        certificate = Certificate(self.rate_map)
        self.charge = ChargeCheck(self.chip)
        self.residual = ResidualCheck(self.chip, certificate, self.thresholds)
        self.contraction = ContractionCheck(self.chip, certificate, self.thresholds)
        self.spikes = SpikesCheck(self.chip, exact=self.tolerance == 0.0)
        self.accuracy = AccuracyCheck(self.chip, self.thresholds)
        self.network = FloatNetwork(model, chip) if model is not None else None
        self.float_spikes = FloatSpikesCheck(self.network) if self.network else None
        self.shift = ShiftCheck(chip, self.network, self.rate_map, certificate, self.thresholds) if self.network else None
        self.rows = max(1, min(SAMPLES_MAX, BYTES_MAX // (8 * sum(layer.size for layer in chip.layers))))
        self.samples = 0
        self.about: dict[str, Any] = {}

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None, *, offset: int | None = None) -> None:
        """Take samples of the run: what came out, what went in (see `run`), and what is right (below 0: unknown).

        The first of them is number `offset` of the run, by default the one after those added so far.
        """
        self._check_origin(result)
        values = np.asarray(values)
        if len(values) != result.samples:
            raise BadArgument(f"the result has {result.samples} samples, values {len(values)}")
        if labels is not None and np.shape(labels) != (result.samples,):
            raise BadArgument(f"labels must be one per sample, [{result.samples}], got {list(np.shape(labels))}")
        offset = self.samples if offset is None else offset
        for start in range(0, result.samples, self.rows):
            rows = slice(start, start + self.rows)
            self._add(result.part(rows), values[rows], None if labels is None else np.asarray(labels)[rows], offset + start)
        self._note(result)

    def _add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None, offset: int) -> None:
        batch = Batch(chip=self.chip, result=result, values=values, labels=labels, offset=offset, tolerance=self.tolerance)
        drive = self.rate_map.drive(values)
        point = self._equilibria(batch, drive)
        self.charge.add(batch)
        self.residual.add(batch, self.rate_map.apply(batch.rates, drive), point)
        self.spikes.add(batch)
        self.accuracy.add(batch, self.network.answers(values, batch.steps) if self.network else None)
        if point is not None and self.network and self.float_spikes and self.shift:
            rows = len(point.residual)
            float_point = self.network.solve(values[:rows])
            self.float_spikes.add(batch, rows, float_point)
            self.shift.add(batch, point, float_point, drive[:rows])
        self.samples += batch.samples

    def add_answers(self, answers: NDArray[np.int64], labels: NDArray[np.int64]) -> None:
        """Samples of the run of which only the answers were kept; labels below 0 are unknown."""
        self.accuracy.add_rows(answers, labels)

    def verdict(self) -> Verdict:
        """What holds of everything added so far."""
        if self.samples == 0:
            raise BadArgument("there is nothing to compare: no sample was added")
        missing = "no model was given (--model model.pt)"
        checks: list[Check] = [
            self.float_spikes.check() if self.float_spikes else not_done("float", FLOAT_LINK, missing),
            self.shift.check() if self.shift else not_done("shift", SHIFT_LINK, missing),
            self.contraction.check(),
            self.residual.check(),
            self.charge.check(),
            self.spikes.check(),
            self.accuracy.check(),
        ]
        return Verdict(checks=tuple(checks), about={**self.about, "samples": self.samples})

    def hand_over(self) -> dict[str, Any]:
        """What was found so far, in types that JSON has; afterwards nothing was added."""
        found = {"samples": self.samples, "about": self.about, "checks": {n: t.hand_over() for n, t in self._tallies().items()}}
        self.samples, self.about = 0, {}
        return found

    def take_in(self, found: Any) -> None:
        """Add what another comparator of this run handed over about later samples; BadFile if it cannot be that."""
        try:
            self.samples += int(found["samples"])
            self.about = {**found["about"], **{name: found["about"][name] + self.about.get(name, 0) for name in _SUMS}}
            for name, tally in self._tallies().items():
                tally.take_in(found["checks"][name])
            self.verdict().to_text()  # what could not be said would fail here, not after the run
        except (TypeError, KeyError, ValueError, IndexError, AttributeError, StopIteration) as error:
            raise BadFile(f"this is not what a comparison found: {type(error).__name__} {error}") from error

    def _tallies(self) -> dict[str, Tally]:
        found = {
            "float": self.float_spikes,
            "shift": self.shift,
            "contraction": self.contraction,
            "residual": self.residual,
            "charge": self.charge,
            "spikes": self.spikes,
            "accuracy": self.accuracy,
        }
        return {name: tally for name, tally in found.items() if tally is not None}

    def _equilibria(self, batch: Batch, drive: NDArray[np.float64]) -> Point | None:
        rows = min(self.equilibrium_samples - batch.offset, batch.samples)
        if rows <= 0:
            return None
        point = solve(self.rate_map, drive[:rows], tuple(rate[:rows] for rate in batch.rates))
        radii = None
        few = min(rows, self.radius_samples - batch.offset)
        if few > 0 and not self.contraction.certificate.certified:
            radii = local_radius(self.rate_map, tuple(rate[:few] for rate in point.rates), drive[:few])
        self.contraction.add(batch.offset, point, radii)
        return point

    def _check_origin(self, result: Result) -> None:
        allowed = {self.digest, self.chip.digest()}
        if result.digest not in allowed:
            raise BadArgument(f"the results are of network {result.digest[:12]}, not of this one, {self.digest[:12]}")
        if (result.graph == "stock") != (self.graph == "stock"):
            raise BadArgument(f"the results come from graph {result.graph!r}, the comparator was made for {self.graph!r}")
        if self.about and (self.about["steps"], self.about["backend"]) != (result.steps, result.backend):
            raise BadArgument(
                f"all batches of a run must share backend and steps: they were {self.about['backend']} and {self.about['steps']}, "
                f"now {result.backend} and {result.steps}"
            )

    def _note(self, result: Result) -> None:
        about = self.about or {
            "backend": result.backend,
            "graph": result.graph,
            "steps": result.steps,
            "digest": self.digest,
            **dict.fromkeys(_SUMS, 0),
        }
        about["seconds"] += result.seconds
        about["operations"] += int(result.operations.sum())
        about["updates"] += int(result.updates.sum())
        about["spikes"] += int(sum(int(c.sum()) for c in result.counts))
        self.about = about


def own_rounding(chip: ChipNetwork, graph: str) -> float:
    """By how much a graph's neurons may round differently from E9, units 2**-6: 0 but for stock ones that leak and subtract."""
    if graph != "stock" or chip.decay == 0 or all(layer.reset == "zero" for layer in chip.layers):
        return 0.0
    return atrlif_error(chip.decay)


def compare(
    result: Result,
    chip: ChipNetwork,
    values: NDArray[np.uint8],
    *,
    labels: NDArray[np.int64] | None = None,
    model: FSNN | None = None,
    limits: Thresholds | None = None,
) -> Verdict:
    """Judge a whole run at once. `limits` tightens what the equations already demand."""
    comparator = Comparator(chip, model=model, thresholds=limits, graph=result.graph)
    comparator.add(result, values, labels)
    return replace(comparator.verdict(), material={"chip": chip, "result": result, "values": values, "labels": labels, "model": model})
