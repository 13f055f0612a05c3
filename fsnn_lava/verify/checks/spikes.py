"""Compares every spike and potential of a backend with the emulator, and some samples with a plain reference, and locates differences.

The emulator shares its arithmetic with our Lava processes, and a run of the emulator itself can only be repeated on it. The reference
shares nothing with either.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import runs_as_atrlif
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import Check, Offender
from fsnn_lava.verify.divergence import locate_divergence, locate_from_reference
from fsnn_lava.verify.equilibrium import equilibrium_multiplications
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_total
from fsnn_lava.verify.message_reference import MessageReference
from fsnn_lava.verify.reference_run import run_reference

LINK = "integer spikes → backend"
EMULATOR_SAMPLES = 256  # run again if the run itself was on the emulator
LOCATED = 3  # samples for which the first divergence is searched
REFERENCE_SAMPLES = 16  # computed by the reference, at most
_REFERENCE_BUDGET = 3e9  # multiplications that the reference may take


class SpikesCheck(MergedFindings):
    """Runs the emulator on the same input. If the run itself was on the emulator, only its first samples are run again.

    The reference computes the samples 0, 1, 2, 4, 8, … as far as they are affordable.
    """

    RULES = {
        **dict.fromkeys(("samples", "repeated", "different", "recorded", "spikes", "distance"), merge_total),
        **dict.fromkeys(("referenced", "unlike_reference"), merge_total),
        "offenders": merge_first(LOCATED),
    }

    def __init__(
        self, chip: ChipNetwork, *, stock: bool = False, emulator: Emulator | DeltaEmulator | MessageReference | None = None
    ) -> None:
        """`stock`: the backend runs Lava's own neurons, so the emulator computes as they do."""
        self.emulator = Emulator(chip, stock=stock) if emulator is None else emulator
        self.stock = stock
        self.samples = self.repeated = self.different = self.recorded = self.referenced = self.unlike_reference = 0
        self.spikes = self.distance = 0  # all spikes, and the sum of the differences in counts
        self.offenders: list[Offender] = []

    def add(self, batch: Batch) -> None:
        """Compare the spikes of some samples of a batch with the reference."""
        self._repeat(batch)
        self._refer(batch)

    def _refer(self, batch: Batch) -> None:
        """Compare with the reference, sample by sample."""
        chip = self.emulator.chip
        for number in _referenced_samples(chip, batch.steps):
            row = number - batch.offset
            if not 0 <= row < batch.samples:
                continue
            one = slice(row, row + 1)
            got, expected = batch.result.part(one), run_reference(chip, batch.values[one], steps=batch.steps, stock=self.stock)
            if self.stock:
                got = _with_unreported_clips(got, expected, chip)
            self.referenced += 1
            if differing_samples(got, expected).any():
                self.unlike_reference += 1
                if len(self.offenders) < LOCATED and number not in [offender["sample"] for offender in self.offenders]:
                    self.offenders.append(locate_from_reference(chip, got, expected, sample=number))

    def _repeat(self, batch: Batch) -> None:
        """Compare with the emulator."""
        rows = batch.samples
        if batch.result.backend == "emu":
            rows = min(rows, EMULATOR_SAMPLES - batch.offset)
        if rows <= 0:
            return
        part = batch.result.part(slice(0, rows))
        expected = self.emulator.run(batch.values[:rows], steps=batch.steps, spikes=part.spikes is not None)
        if self.stock:
            part = _with_unreported_clips(part, expected, self.emulator.chip)
        wrong = differing_samples(part, expected)
        self.samples += rows
        self.repeated += rows if batch.result.backend == "emu" else 0
        self.recorded += rows if part.spikes is not None else 0
        self.different += int(np.count_nonzero(wrong))
        self.spikes += sum(int(c.sum()) for c in expected.counts)
        self.distance += sum(int(np.abs(a - b).sum()) for a, b in zip(part.counts, expected.counts, strict=True))
        for row in np.flatnonzero(wrong)[: max(0, LOCATED - len(self.offenders))]:
            one = slice(int(row), int(row) + 1)
            self.offenders.append(self._locate(batch.values[one], part.part(one), batch.sample(row)))

    def _locate(self, values: NDArray[np.uint8], got: Result, sample: int) -> Offender:
        if not isinstance(self.emulator, Emulator):
            raise NotImplementedError("MessagesCheck locates messages")
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
        }
        passed = self.different == 0 and self.unlike_reference == 0
        return Check(name="spikes", link=LINK, passed=passed, summary=self._sentence(), numbers=numbers, offenders=tuple(self.offenders))

    def _sentence(self) -> str:
        if self.different == 0 and self.unlike_reference == 0:
            what = "spike" if self.recorded == self.samples else "spike count"
            if self.repeated == self.samples:
                said = f"repeatable: every {what} and potential is the same when the emulator runs again ({self.samples} samples)"
            else:
                said = f"every {what} and potential matches the emulator ({self.samples} samples, {self.spikes} spikes)"
            reference = "a plain second implementation of E9 in NumPy"
            return f"{said}; {reference} agrees on the {self.referenced} samples that it computed" if self.referenced else said
        differ = f"{self.different} of {self.samples} samples differ from the emulator"
        if self.different == 0:
            differ = f"{self.unlike_reference} of {self.referenced} samples differ from the reference, not from the emulator"
        first = self.offenders[0]
        place = f"layer {first['layer']!r}, neuron {tuple(first['neuron'])}" if "neuron" in first else first["what"].split(":")[0]
        step = f", step {first['step']}" if "step" in first else ""
        return f"{differ}, first in sample {first['sample']}, {place}{step}"


def _referenced_samples(chip: ChipNetwork, steps: int) -> list[int]:
    """Numbers of the samples that the reference computes: spread over a run of any length, at least one, as many as are affordable."""
    number = int(np.clip(_REFERENCE_BUDGET // (max(1, equilibrium_multiplications(chip)) * steps), 1, REFERENCE_SAMPLES))
    return [0, *(2**power for power in range(number - 1))]


def _with_unreported_clips(got: Result, expected: Result, chip: ChipNetwork) -> Result:
    """`got` with the emulator's flags for the layers whose stock neuron does not report clipping (ATRLIF with a leak)."""
    silent = [runs_as_atrlif(layer) for layer in chip.layers]
    clipped = tuple(b if quiet else a for a, b, quiet in zip(got.clipped, expected.clipped, silent, strict=True))
    return replace(got, clipped=clipped, clip_count=np.where([*silent, False], expected.clip_count, got.clip_count))


def differing_samples(got: Result, expected: Result) -> NDArray[np.bool_]:
    """[B] samples whose spikes or any other part of the result differ. Traces may differ by the rounding of 2 T operations."""
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
