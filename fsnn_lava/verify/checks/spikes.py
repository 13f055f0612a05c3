"""Every spike and potential of a backend against the emulator: equal, or where they first differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import Check, Offender
from fsnn_lava.verify.divergence import locate_divergence
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_total

LINK = "integer spikes → backend"
EMULATOR_SAMPLES = 256  # run again if the emulator itself made the run
LOCATED = 3  # samples for which the first divergence is searched


class SpikesCheck(MergedFindings):
    """Runs the emulator on the same input. If the emulator itself made the run, only its first samples are run again."""

    RULES = {**dict.fromkeys(("samples", "different", "recorded", "spikes", "distance"), merge_total), "offenders": merge_first(LOCATED)}

    def __init__(self, chip: ChipNetwork, *, exact: bool = True, emulator: Emulator | DeltaEmulator | None = None) -> None:
        """`exact` False: the backend's neurons round differently from E9, so differences are counted but not judged."""
        self.emulator = Emulator(chip) if emulator is None else emulator
        self.exact = exact
        self.samples = self.different = self.recorded = 0
        self.spikes = self.distance = 0  # all spikes, and the sum of the differences in counts
        self.offenders: list[Offender] = []

    def add(self, batch: Batch) -> None:
        rows = batch.samples
        if batch.result.backend == "emu":
            rows = min(rows, EMULATOR_SAMPLES - batch.offset)
        if rows <= 0:
            return
        part = batch.result.part(slice(0, rows))
        expected = self.emulator.run(batch.values[:rows], steps=batch.steps, spikes=part.spikes is not None)
        wrong = differing(part, expected)
        self.samples += rows
        self.recorded += rows if part.spikes is not None else 0
        self.different += int(np.count_nonzero(wrong))
        self.spikes += sum(int(c.sum()) for c in expected.counts)
        self.distance += sum(int(np.abs(a - b).sum()) for a, b in zip(part.counts, expected.counts, strict=True))
        for row in np.flatnonzero(wrong)[: max(0, LOCATED - len(self.offenders))]:
            one = slice(int(row), int(row) + 1)
            self.offenders.append(self._locate(batch.values[one], part.part(one), batch.sample(row)))

    def _locate(self, values: NDArray[np.uint8], got: Result, sample: int) -> Offender:
        if isinstance(self.emulator, DeltaEmulator):
            raise NotImplementedError("MessagesCheck locates messages")
        return locate_divergence(self.emulator, values, got, sample=sample)

    def check(self) -> Check:
        numbers = {
            "samples": self.samples,
            "different": self.different,
            "spikes": self.spikes,
            "count_distance": self.distance,
            "trains": self.recorded == self.samples,
        }
        passed = self.different == 0 or not self.exact
        return Check(name="spikes", link=LINK, passed=passed, summary=self._sentence(), numbers=numbers, offenders=tuple(self.offenders))

    def _sentence(self) -> str:
        if self.different == 0:
            what = "spike" if self.recorded == self.samples else "spike count"
            return f"every {what} and potential matches the emulator ({self.samples} samples, {self.spikes} spikes)"
        differ = f"{self.different} of {self.samples} samples differ from the emulator"
        if not self.exact:
            return f"{differ}, by {self.distance} of {self.spikes} spikes; stock neurons round differently, so only charge judges them"
        first = self.offenders[0]
        place = f"layer {first['layer']!r}, neuron {tuple(first['neuron'])}" if "neuron" in first else "not in spikes or potentials"
        step = f", step {first['step']}" if "step" in first else ""
        return f"{differ}, first in sample {first['sample']}, {place}{step}"


def differing(got: Result, expected: Result) -> NDArray[np.bool_]:
    """[B] samples in which any part of the result differs. Traces may differ by the rounding of 2 T operations."""
    wrong = np.any(got.readout != expected.readout, axis=1) | np.any(got.clip_count != expected.clip_count, axis=1)
    for name in ("counts", "late", "potentials", "clipped", "spikes"):
        left, right = getattr(got, name), getattr(expected, name)
        if left is None or right is None:
            continue
        for a, b in zip(left, right, strict=True):
            wrong |= (a != b).reshape(len(a), -1).any(axis=1)
    if expected.messages is not None:
        wrong |= True if got.messages is None else (got.messages != expected.messages).any(axis=1)
    tolerance = 4 * got.steps * 2.0**-53 * max(1.0, got.weight_sum)
    for name in ("traces", "late_traces"):
        for a, b in zip(getattr(got, name), getattr(expected, name), strict=True):
            wrong |= (np.abs(a - b) > tolerance).reshape(len(a), -1).any(axis=1)
    return wrong
