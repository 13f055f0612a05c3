"""Compares every spike and potential of a backend with the emulator, and some samples with a plain reference, and locates differences.

The emulator shares its arithmetic with our Lava processes, and a run of the emulator itself can only be repeated on it. The reference
shares nothing with either.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import runs_as_atrlif
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import Check, Offender
from fsnn_lava.verify.checks.repeated_run import LINK, LOCATED, RepeatedRun
from fsnn_lava.verify.divergence import differing_samples, locate_divergence, locate_from_reference
from fsnn_lava.verify.merged_findings import merge_total
from fsnn_lava.verify.reference_run import run_reference
from fsnn_lava.verify.sampling import referenced_samples


class SpikesCheck(RepeatedRun):
    """RepeatedRun for spikes, and a reference for some samples."""

    RULES = {**RepeatedRun.RULES, **dict.fromkeys(("referenced", "unlike_reference"), merge_total)}
    emulator: Emulator

    def __init__(self, chip: ChipNetwork, *, stock: bool = False, emulator: Emulator | None = None) -> None:
        """`stock`: the backend runs Lava's own neurons, so the emulator computes as they do."""
        super().__init__(Emulator(chip, stock=stock) if emulator is None else emulator)
        self.stock = stock
        self.referenced = self.unlike_reference = 0

    def add(self, batch: Batch) -> None:
        super().add(batch)
        rows = referenced_samples(self.chip, batch.steps).rows(batch.offset, batch.samples)
        if len(rows):
            self._refer(batch.at(rows))

    def _refer(self, batch: Batch) -> None:
        """Compare with the reference."""
        expected = run_reference(self.chip, batch.values, steps=batch.steps, stock=self.stock)
        got = self._as_reported(batch.result, expected)
        wrong = differing_samples(got, expected)
        self.referenced += batch.samples
        self.unlike_reference += int(np.count_nonzero(wrong))
        located = [offender["sample"] for offender in self.offenders]
        others = [int(row) for row in np.flatnonzero(wrong) if batch.sample(int(row)) not in located]
        for row in others[: max(0, LOCATED - len(located))]:
            one = slice(row, row + 1)
            self.offenders.append(locate_from_reference(self.chip, got.part(one), expected.part(one), sample=batch.sample(row)))

    def _as_reported(self, got: Result, expected: Result) -> Result:
        return _with_unreported_clips(got, expected, self.chip) if self.stock else got

    def _locate(self, values: NDArray[np.uint8], got: Result, sample: int) -> Offender:
        return locate_divergence(self.emulator, values, got, sample=sample)

    def check(self) -> Check:
        """The finding on the spikes."""
        numbers = {
            "samples": self.samples,
            "different": self.different,
            "reference_samples": self.referenced,
            "reference_different": self.unlike_reference,
            "spikes": self.spikes,
            "count_distance": self.distance,
            "trains": self.recorded == self.samples,
            "unreported_clips": self._silent_layers(),
        }
        passed = self.different == 0 and self.unlike_reference == 0
        return Check(name="spikes", link=LINK, passed=passed, summary=self._sentence(), numbers=numbers, offenders=tuple(self.offenders))

    def _silent_layers(self) -> list[str]:
        """Layers whose neurons do not report that they were clipped."""
        return [layer.name for layer in self.chip.layers if self.stock and runs_as_atrlif(layer)]

    def _sentence(self) -> str:
        if self.different:
            return f"{self.different} of {self.samples} samples differ from the emulator, {self._place()}"
        if self.unlike_reference:
            differ = f"{self.unlike_reference} of {self.referenced} samples differ from the reference, not from the emulator"
            return f"{differ}, {self._place()}"
        said = self._agreement("spike", "potential")
        if self.referenced:
            said += f"; a plain second implementation of E9 in NumPy agrees on the {self.referenced} samples that it computed"
        if names := ", ".join(repr(name) for name in self._silent_layers()):
            said += f"; Lava's neuron does not report clips in {names}: those are the emulator's"
        return said


def _with_unreported_clips(got: Result, expected: Result, chip: ChipNetwork) -> Result:
    """`got` with the emulator's flags for the layers whose stock neuron does not report clipping (ATRLIF with a leak)."""
    silent = [runs_as_atrlif(layer) for layer in chip.layers]
    clipped = tuple(b if quiet else a for a, b, quiet in zip(got.clipped, expected.clipped, silent, strict=True))
    return replace(got, clipped=clipped, clip_count=np.where([*silent, False], expected.clip_count, got.clip_count))
