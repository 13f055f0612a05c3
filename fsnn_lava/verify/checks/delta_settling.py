"""Has a run with delta encoding settled? Compare its residuals with the dead bands, and count the samples that fell silent (E16)."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from fsnn_lava.ir.network import ChipNetwork, DeltaEncoding
from fsnn_lava.ir.rate_map import Rates
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import Check
from fsnn_lava.verify.checks.settling import LINK
from fsnn_lava.verify.merged_findings import MergedFindings, merge_largest, merge_total
from fsnn_lava.verify.settled import Settled, answer_of
from fsnn_lava.verify.thresholds import Thresholds

_ROUNDING = 1e-9  # relative rounding error of a residual in float64


@dataclass(frozen=True, kw_only=True)
class DeltaSettled(Settled):
    """Settled for delta encoding: the resolution of a layer is its dead band plus one unit of rounding.

    Attributes:
        silent: fraction of the samples that sent nothing for the longest delay, 0 to 1.
        cycles: number of samples that ended in a limit cycle.
    """

    silent: float
    cycles: int

    def sentence(self) -> str:
        """Return the finding in one sentence."""
        cycles = f", {self.cycles} ended in a limit cycle" if self.cycles else ""
        return f"{super().sentence()}; {self.silent:.2%} of the samples fell silent{cycles}"

    def _resolved(self) -> str:
        return f"the dead bands, up to {self.level:.3g}"

    def _level(self) -> str:
        return super()._level() if self.demanded else f"the dead band of their layer, up to {self.level:.4g}"

    def outlook(self) -> str:
        """Return an empty string: E11's 1/A does not apply to delta encoding, and E16 predicts no number of steps."""
        return ""


class DeltaSettlingCheck(MergedFindings):
    """Measures only; the user's thresholds are judged by the residual check."""

    RULES = {
        **dict.fromkeys(("samples", "unsettled", "active", "beyond", "squares", "silent", "cycles"), merge_total),
        "residual_max": merge_largest,
    }

    def __init__(self, chip: ChipNetwork, delta: DeltaEncoding, thresholds: Thresholds) -> None:
        self.chip, self.wanted = chip, thresholds.residual_max
        self.levels = [band + 1.0 / delta.one for band in delta.shares()]
        self.longest = max([chip.delay(synapse) for synapse in chip.feedback], default=0)
        self.samples = self.unsettled = self.active = self.beyond = self.silent = self.cycles = 0
        self.squares = self.residual_max = 0.0

    def add(self, batch: Batch, mapped: Rates) -> None:
        """Add a batch; `mapped` is f(a)."""
        unsettled, squares = np.zeros(batch.samples, dtype=bool), 0.0
        for level, after, rate in zip(self.levels, mapped, batch.rates, strict=True):
            residual = np.abs(after - rate)
            over = residual > (level if self.wanted is None else self.wanted) * (1 + _ROUNDING)
            self.active += int(np.count_nonzero((after > 0) | (rate > 0)))  # the residual of the others is 0
            self.beyond += int(np.count_nonzero(over))
            squares += float(np.vdot(residual, residual))
            self.residual_max = max(self.residual_max, float(residual.max(initial=0.0)))
            unsettled |= over.reshape(batch.samples, -1).any(axis=1)
        self.squares += squares  # once per batch, so that merging parts rounds the same way
        self.unsettled += int(np.count_nonzero(unsettled))
        self.samples += batch.samples
        messages, cycles = batch.result.messages, batch.result.cycles
        if messages is not None and cycles is not None:
            self.silent += int(np.count_nonzero(~messages[:, max(0, batch.steps - max(1, self.longest)) :].any(axis=1)))
            self.cycles += int(np.count_nonzero(cycles))

    def settled(self, *, distance: float | None, without: int) -> DeltaSettled:
        """Return how far the rates have settled; `distance` is the largest |a - a*|, `without` counts samples for which no a* was found."""
        typical, resolution = sqrt(self.squares / self.active) if self.active else 0.0, max(self.levels)
        level = resolution if self.wanted is None else self.wanted
        return DeltaSettled(
            answer=answer_of(unsettled=self.unsettled, samples=self.samples, without=without),
            residual=self.residual_max,
            typical=typical,
            resolution=resolution,
            level=level,
            demanded=self.wanted is not None,
            beyond=self.beyond / max(1, self.active),
            samples_settled=1.0 - self.unsettled / max(1, self.samples),
            distance=distance,
            without=without,
            silent=self.silent / max(1, self.samples),
            cycles=self.cycles,
        )

    def check(self, settled: Settled) -> Check:
        """Return the finding on whether the rates settled."""
        numbers = {name: getattr(settled, name) for name in settled.__dataclass_fields__}
        return Check(name="settled", link=LINK, passed=True, judges=False, summary=str(settled), numbers=numbers)
