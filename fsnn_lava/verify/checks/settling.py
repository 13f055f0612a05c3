"""Has the run settled? Compares the residuals with what T steps can resolve, and estimates how many steps it would take (E11)."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap, Rates
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import Check
from fsnn_lava.verify.merged_findings import MergedFindings, merge_largest, merge_total
from fsnn_lava.verify.settled import Answer, Settled, steps_to_settle
from fsnn_lava.verify.thresholds import Thresholds

LINK = "equilibrium → integer spikes"
SLOPE_SAMPLES = 8  # number of first samples to run again with fewer steps
SLOPE_STEPS_MIN = 8
_PARTS = (4, 2, 1)  # T divided by these: where the residual is measured
_ROUNDING = 1e-9  # relative rounding error of a residual and of 1/A in float64


class SettlingCheck(MergedFindings):
    """Only measures; the user's thresholds are judged by the residual check."""

    RULES = {
        **dict.fromkeys(("active", "beyond", "squares", "lengths"), merge_total),
        **dict.fromkeys(("steps", "residual_max"), merge_largest),
    }

    def __init__(self, chip: ChipNetwork, emulator: Emulator, rate_map: RateMap, thresholds: Thresholds) -> None:
        self.chip, self.emulator, self.rate_map, self.level = chip, emulator, rate_map, thresholds.residual_max
        self.steps = self.active = self.beyond = 0
        self.squares = self.residual_max = 0.0
        self.lengths = np.zeros(len(_PARTS))  # sums over samples of ||f(a) - a|| after T/4, T/2 and T steps

    def add(self, batch: Batch, mapped: Rates) -> None:
        """`mapped` is f(a)."""
        self.steps = batch.steps
        limit, squares = self._level() * (1 + _ROUNDING), 0.0
        for after, rate in zip(mapped, batch.rates, strict=True):
            residual = np.abs(after - rate)[(after > 0) | (rate > 0)]
            self.active += residual.size
            self.beyond += int(np.count_nonzero(residual > limit))
            squares += float(np.square(residual).sum())
            self.residual_max = max(self.residual_max, float(residual.max(initial=0.0)))
        self.squares += squares
        rows = min(SLOPE_SAMPLES - batch.offset, batch.samples)
        if rows > 0 and batch.steps >= SLOPE_STEPS_MIN:
            self.lengths += [self._length(batch, rows, batch.steps // part) for part in _PARTS]

    def _length(self, batch: Batch, rows: int, steps: int) -> float:
        """||f(a) - a|| of the first samples after `steps` steps, summed; after all steps, that of the run itself."""
        values = batch.values[:rows, :steps] if self.chip.input.kind == "events" else batch.values[:rows]
        rates = batch.rates if steps == batch.steps else self.emulator.run(values, steps=steps).rates
        return float(self.rate_map.residual(tuple(rate[:rows] for rate in rates), self.rate_map.drive(values)).sum())

    def _resolution(self) -> float:
        return 1.0 / self.chip.weight_sum(max(1, self.steps))

    def _level(self) -> float:
        return self._resolution() if self.level is None else self.level

    def settled(self, *, distance: float | None, without: int) -> Settled:
        """`distance`: the largest |a - a*|; `without`: samples for which no a* was found."""
        typical = sqrt(self.squares / self.active) if self.active else 0.0
        slope, expected = self._slopes()
        return Settled(
            answer=self._answer(typical, without, slope, expected),
            residual=self.residual_max,
            typical=typical,
            resolution=self._resolution(),
            level=self._level(),
            beyond=self.beyond / max(1, self.active),
            slope=slope,
            expected_slope=expected,
            steps=self._steps_needed(),
            floor=self._floor(),
            distance=distance,
            without=without,
        )

    def check(self, settled: Settled) -> Check:
        """The finding on whether the rates settled."""
        numbers = {name: getattr(settled, name) for name in settled.__dataclass_fields__}
        return Check(name="settled", link=LINK, passed=True, judges=False, summary=str(settled), numbers=numbers)

    def _answer(self, typical: float, without: int, slope: float | None, expected: float | None) -> Answer:
        if self.beyond == 0:
            return "partly" if without else "yes"
        slow = slope is not None and expected is not None and slope > expected / 2
        return "no" if slow or typical > self._level() * (1 + _ROUNDING) else "partly"

    @property
    def _subtracts(self) -> bool:
        return all(layer.reset == "subtract" for layer in self.chip.layers)

    def _steps_needed(self) -> int | None:
        level, leak = self._level(), self.chip.leak
        if self.beyond == 0:
            return self.steps
        if not self._subtracts or level <= 0.0:
            return None
        return steps_to_settle(self.residual_max, level, weight_sum=self.chip.weight_sum(self.steps), leak=leak)

    def _floor(self) -> float | None:
        """The largest residual times A_T/A_infinity."""
        return self.residual_max * self.chip.weight_sum(self.steps) * (1.0 - self.chip.leak) if self._subtracts else None

    def _slopes(self) -> tuple[float | None, float | None]:
        """(measured, predicted by E11): the slopes of log length and of log 1/A over log T."""
        if self.steps < SLOPE_STEPS_MIN:
            return None, None
        moments = [self.steps // part for part in _PARTS]
        predicted = _slope(moments, [1.0 / self.chip.weight_sum(t) for t in moments]) if self._subtracts else None
        return (_slope(moments, list(self.lengths)) if (self.lengths > 0).all() else None), predicted


def _slope(steps: list[int], lengths: list[float]) -> float:
    """The slope of the least-squares line through (log steps, log lengths)."""
    x, y = np.array([log(t) for t in steps]), np.array([log(length) for length in lengths])
    return float(((x - x.mean()) * (y - y.mean())).sum() / np.square(x - x.mean()).sum())
