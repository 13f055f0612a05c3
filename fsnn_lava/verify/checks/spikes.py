"""Compare all spikes and potentials of a backend with the emulator, and some samples with a plain reference, and locate differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import runs_as_atrlif
from fsnn_lava.verify.check import Check, Offender
from fsnn_lava.verify.checks.referenced_run import ReferencedRun
from fsnn_lava.verify.checks.repeated_run import LINK
from fsnn_lava.verify.divergence import locate_divergence, locate_from_reference
from fsnn_lava.verify.reference_run import run_reference


class SpikesCheck(ReferencedRun):
    """ReferencedRun for spikes."""

    emulator: Emulator

    def __init__(self, chip: ChipNetwork, *, stock: bool = False, emulator: Emulator | None = None) -> None:
        """`stock`: the backend runs Lava's own neurons, so the emulator computes what they do."""
        super().__init__(Emulator(chip, stock=stock) if emulator is None else emulator)
        self.stock = stock

    def _reference(self, values: NDArray[np.uint8], steps: int) -> Result:
        return run_reference(self.chip, values, steps=steps, stock=self.stock)

    def _locate_from_reference(self, got: Result, expected: Result, sample: int) -> Offender:
        return locate_from_reference(self.chip, got, expected, sample=sample)

    def _as_reported(self, got: Result, expected: Result) -> Result:
        return _with_unreported_clips(got, expected, self.chip) if self.stock else got

    def _locate(self, values: NDArray[np.uint8], got: Result, sample: int) -> Offender:
        return locate_divergence(self.emulator, values, got, sample=sample)

    def check(self) -> Check:
        """Return the finding on the spikes."""
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
        sentence = self._sentence() if self.passed else self._difference()
        return Check(name="spikes", link=LINK, passed=self.passed, summary=sentence, numbers=numbers, offenders=tuple(self.offenders))

    def _silent_layers(self) -> list[str]:
        """Return the layers whose neurons do not report that they were clipped."""
        return [layer.name for layer in self.chip.layers if self.stock and runs_as_atrlif(layer)]

    def _sentence(self) -> str:
        said = self._agreement("spike", "potential") + self._confirmation("E9")
        if names := ", ".join(repr(name) for name in self._silent_layers()):
            said += f"; Lava's neuron does not report clips in {names}: those are the emulator's"
        return said


def _with_unreported_clips(got: Result, expected: Result, chip: ChipNetwork) -> Result:
    """Return `got` with the emulator's flags for the layers whose stock neuron does not report clipping (ATRLIF with a leak)."""
    silent = [runs_as_atrlif(layer) for layer in chip.layers]
    clipped = tuple(b if quiet else a for a, b, quiet in zip(got.clipped, expected.clipped, silent, strict=True))
    return replace(got, clipped=clipped, clip_count=np.where([*silent, False], expected.clip_count, got.clip_count))
