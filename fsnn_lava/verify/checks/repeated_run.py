"""Repeat a backend's run on the emulator: which samples differ, and where first? Base of the spikes and messages checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import Offender
from fsnn_lava.verify.divergence import differing_samples
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_total
from fsnn_lava.verify.sampling import ACTIVITY, affordable

LINK = "integer spikes → backend"
LOCATED = 3  # samples for which the first divergence is located
REPEATED_SAMPLES = 256  # at most this many are run again, from the first, if the emulator itself made the run


class AnyEmulator(Protocol):
    """An emulator, for spikes or for changes of rates."""

    chip: ChipNetwork

    def run(self, values: NDArray[np.uint8], *, steps: int | None = None, spikes: bool = False) -> Result: ...


class RepeatedRun(MergedFindings, ABC):
    """Repeats a run on the emulator: every sample, or only some of them if the emulator itself made the run.

    With `from_file`, every sample too: that the emulator made the run is then only what the file says.
    """

    RULES = {
        **dict.fromkeys(("samples", "repeated", "different", "recorded", "spikes", "distance"), merge_total),
        "offenders": merge_first(LOCATED),
    }

    def __init__(self, emulator: AnyEmulator, *, name: str = "the emulator") -> None:
        """`name` is what findings call the emulator."""
        self.emulator, self.chip, self.name, self.from_file = emulator, emulator.chip, name, False
        self.samples = self.repeated = self.different = self.recorded = 0
        self.spikes = self.distance = 0  # all spikes, and the sum of the differences in counts
        self.offenders: list[Offender] = []

    def add(self, batch: Batch) -> None:
        if batch.result.backend == "emu":
            rows = self._rows(batch)
            self.repeated += len(rows)
            batch = batch.at(rows) if 0 < len(rows) < batch.samples else batch
            if not len(rows):
                return
        part = batch.result
        expected = self.emulator.run(batch.values, steps=batch.steps, spikes=part.spikes is not None)
        part = self._as_reported(part, expected)
        wrong = differing_samples(part, expected)
        self.samples += batch.samples
        self.recorded += batch.samples if part.spikes is not None else 0
        self.different += int(np.count_nonzero(wrong))
        self.spikes += sum(int(c.sum()) for c in expected.counts)
        self.distance += sum(int(np.abs(a - b).sum()) for a, b in zip(part.counts, expected.counts, strict=True))
        for row in np.flatnonzero(wrong)[: max(0, LOCATED - len(self.offenders))]:
            one = slice(int(row), int(row) + 1)
            self.offenders.append(self._locate(batch.values[one], part.part(one), batch.sample(row)))

    def _rows(self, batch: Batch) -> NDArray[np.intp]:
        """Return the samples of a run on the emulator that are run again."""
        if self.from_file:
            return np.arange(batch.samples)
        sampling = affordable(self.chip, batch.steps, passes=ACTIVITY * batch.steps, first_most=REPEATED_SAMPLES)
        return sampling.rows(batch.offset, batch.samples)

    def _as_reported(self, got: Result, expected: Result) -> Result:
        """Return `got`, with values that its neurons cannot report taken from the emulator."""
        return got

    @abstractmethod
    def _locate(self, values: NDArray[np.uint8], got: Result, sample: int) -> Offender:
        """Return where one sample first differs from the emulator."""

    def _agreement(self, message: str, state: str) -> str:
        """Describe what was compared, if nothing differs."""
        what = message if self.recorded == self.samples else f"{message} count"
        if self.repeated == self.samples:
            return f"repeatable: every {what} and {state} is the same when {self.name} runs again ({self.samples} samples)"
        return f"every {what} and {state} matches {self.name} ({self.samples} samples, {self.spikes} {message}s)"

    def _place(self) -> str:
        """Describe where the first difference is."""
        first = self.offenders[0]
        place = f"layer {first['layer']!r}, neuron {tuple(first['neuron'])}" if "neuron" in first else first["what"].split(":")[0]
        step = f", step {first['step']}" if "step" in first else ""
        return f"first in sample {first['sample']}, {place}{step}"
