"""A repeated run with some samples also computed by a plain reference. Base of the spikes and messages checks.

The emulator shares its arithmetic with our Lava processes, and a run on the emulator can only be repeated on the emulator. The
references share nothing with either.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.residual_curve import ResidualCurve
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import Offender
from fsnn_lava.verify.checks.repeated_run import LOCATED, AnyEmulator, RepeatedRun
from fsnn_lava.verify.divergence import differing_samples
from fsnn_lava.verify.merged_findings import merge_total
from fsnn_lava.verify.sampling import referenced_samples


class ReferencedRun(RepeatedRun):
    """A RepeatedRun that also compares some samples with a reference."""

    RULES = {**RepeatedRun.RULES, **dict.fromkeys(("referenced", "unlike_reference"), merge_total)}

    def __init__(self, emulator: AnyEmulator, *, name: str = "the emulator") -> None:
        super().__init__(emulator, name=name)
        self.referenced = self.unlike_reference = 0

    def add(self, batch: Batch) -> None:
        super().add(batch)
        rows = referenced_samples(self.chip, batch.steps).rows(batch.offset, batch.samples)
        if len(rows):
            self._refer(batch.at(rows))

    def _refer(self, batch: Batch) -> None:
        """Compare some samples with the reference."""
        expected = self._reference(batch.values, batch.steps)
        if batch.result.residual is not None:
            expected = ResidualCurve(self.chip).added(expected, batch.values, keep_spikes=True)
        got = self._as_reported(batch.result, expected)
        wrong = differing_samples(got, expected)
        self.referenced += batch.samples
        self.unlike_reference += int(np.count_nonzero(wrong))
        located = [offender["sample"] for offender in self.offenders]
        others = [int(row) for row in np.flatnonzero(wrong) if batch.sample(int(row)) not in located]
        for row in others[: max(0, LOCATED - len(located))]:
            one = slice(row, row + 1)
            self.offenders.append(self._locate_from_reference(got.part(one), expected.part(one), batch.sample(row)))

    @property
    def passed(self) -> bool:
        """Whether no sample differs from the emulator or from the reference."""
        return self.different == 0 and self.unlike_reference == 0

    def _difference(self) -> str:
        """Describe what differs, and where first."""
        if self.different:
            return f"{self.different} of {self.samples} samples differ from {self.name}, {self._place()}"
        return f"{self.unlike_reference} of {self.referenced} samples differ from the reference, not from the emulator, {self._place()}"

    def _confirmation(self, equation: str) -> str:
        """Describe what the reference adds to the agreement with the emulator."""
        if not self.referenced:
            return ""
        samples = "one sample" if self.referenced == 1 else f"{self.referenced} samples"
        return f"; a plain second implementation of {equation} in NumPy agrees on the {samples} that it computed"

    @abstractmethod
    def _reference(self, values: NDArray[np.uint8], steps: int) -> Result:
        """Return the result of the reference, with every message."""

    @abstractmethod
    def _locate_from_reference(self, got: Result, expected: Result, sample: int) -> Offender:
        """Return where one sample first differs from the reference."""
