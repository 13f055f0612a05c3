"""Has the run settled? Compare its residuals with what T steps can resolve, and estimate how many steps it would take (E11)."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.connections import incoming_synapses, synaptic_shift
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import Rates, rate_vector_length
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.phase_noise import equilibrium_charge
from fsnn_lava.verify.check import Check
from fsnn_lava.verify.merged_findings import MergedFindings, merge_largest, merge_total
from fsnn_lava.verify.sampling import slope_samples
from fsnn_lava.verify.settled import Answer, Settled, answer_of, steps_to_settle
from fsnn_lava.verify.thresholds import Thresholds

LINK = "equilibrium → integer spikes"
SLOPE_STEPS_MIN = 8
_PARTS = (4, 2, 1)  # the residual is measured after T divided by each of these
_ROUNDING = 1e-9  # relative rounding error of a residual and of 1/A in float64


class SettlingCheck(MergedFindings):
    """Measures only; the user's thresholds are judged by the residual check."""

    RULES = {
        **dict.fromkeys(("samples", "unsettled", "active", "beyond", "unexplained", "squares", "lengths", "sloped"), merge_total),
        **dict.fromkeys(("steps", "residual_max"), merge_largest),
    }

    def __init__(self, chip: ChipNetwork, emulator: Emulator, thresholds: Thresholds) -> None:
        self.chip, self.emulator, self.demanded = chip, emulator, thresholds.residual_max
        self.charges = [equilibrium_charge(chip, layer) for layer in chip.layers]  # spikes
        self.samples = self.unsettled = self.steps = self.active = self.beyond = self.unexplained = 0
        self.squares = self.residual_max = 0.0
        self.sloped = 0  # samples that were run again with fewer steps
        self.lengths = np.zeros(len(_PARTS))  # sums over samples of ||f(a) - a|| after T/4, T/2 and T steps

    def add(self, batch: Batch, mapped: Rates) -> None:
        """Add a batch; `mapped` is f(a)."""
        self.steps = batch.steps
        limit = self._level() * (1 + _ROUNDING)
        unsettled, squares = np.zeros(batch.samples, dtype=bool), 0.0
        for index, (after, rate) in enumerate(zip(mapped, batch.rates, strict=True)):
            residual = np.abs(after - rate)
            over = residual > limit
            self.active += int(np.count_nonzero((after > 0) | (rate > 0)))  # the residual of the others is 0
            self.beyond += int(np.count_nonzero(over))
            self.unexplained += int(np.count_nonzero(residual[over] > self._explained(batch, index, over) * (1 + _ROUNDING)))
            squares += float(np.vdot(residual, residual))
            self.residual_max = max(self.residual_max, float(residual.max(initial=0.0)))
            unsettled |= over.reshape(batch.samples, -1).any(axis=1)
        self.samples += batch.samples
        self.squares += squares  # once per batch, so that merging parts rounds the same way
        self.unsettled += int(np.count_nonzero(unsettled))
        rows = slope_samples(self.chip, batch.steps).rows(batch.offset, batch.samples)
        if len(rows) and batch.steps >= SLOPE_STEPS_MIN:
            first = batch.at(rows)
            self.sloped += len(rows)
            self.lengths += [self._length(first, batch.steps // part) for part in _PARTS]

    def _explained(self, batch: Batch, index: int, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the residuals that the chosen neurons of a layer may have at equilibrium (E11), given spikes in flight and phases."""
        layer, total = self.chip.layers[index], self.chip.weight_sum(batch.steps)
        explained = np.broadcast_to(self.charges[index] / total, chosen.shape)[chosen]
        unit = np.broadcast_to(layer.per_neuron(layer.threshold) * (total * 2.0**STATE_FRACTION_BITS), chosen.shape)[chosen]
        for synapse in incoming_synapses(self.chip, layer):
            if self.chip.delay(synapse) > 0:
                explained = explained + np.abs(batch.missing_sum(synapse)[chosen]) * (2.0 ** synaptic_shift(synapse) / unit)
        return explained

    def _length(self, batch: Batch, steps: int) -> float:
        """Return ||f(a) - a|| after this many steps, summed over samples; after all steps, it is that of the run itself."""
        if steps < batch.steps:
            values = batch.values[:, :steps] if self.chip.input.kind == "events" else batch.values
            batch = replace(batch, result=self.emulator.run(values, steps=steps), values=values)
        return float(rate_vector_length(tuple(f - a for f, a in zip(batch.mapped, batch.rates, strict=True))).sum())

    def _resolution(self) -> float:
        return 1.0 / self.chip.weight_sum(max(1, self.steps))

    def _level(self) -> float:
        """Return what the residuals are compared with: the user's level, or what the run can resolve."""
        return self._resolution() if self.demanded is None else self.demanded

    def settled(self, *, distance: float | None, without: int) -> Settled:
        """Return how far the rates have settled; `distance` is the largest |a - a*|, `without` counts samples for which no a* was found."""
        slope, expected = self._slopes()
        return Settled(
            answer=self._answer(without),
            residual=self.residual_max,
            typical=sqrt(self.squares / self.active) if self.active else 0.0,
            resolution=self._resolution(),
            level=self._level(),
            demanded=self.demanded is not None,
            beyond=self.beyond / max(1, self.active),
            unexplained=self.unexplained / max(1, self.active),
            samples_settled=1.0 - self.unsettled / max(1, self.samples),
            slope=slope,
            expected_slope=expected,
            slope_samples=self.sloped,
            steps=self._steps_needed(),
            floor=self._floor(),
            distance=distance,
            without=without,
        )

    def check(self, settled: Settled) -> Check:
        """Return the finding on whether the rates settled."""
        numbers = {name: getattr(settled, name) for name in settled.__dataclass_fields__}
        return Check(name="settled", link=LINK, passed=True, judges=False, summary=str(settled), numbers=numbers)

    def _answer(self, without: int) -> Answer:
        return answer_of(unsettled=self.unsettled, samples=self.samples, without=without)

    @property
    def _subtracts(self) -> bool:
        return all(layer.reset == "subtract" for layer in self.chip.layers)

    def _steps_needed(self) -> int | None:
        if self.beyond == 0:
            return self.steps
        if not self._subtracts or self.demanded == 0.0:
            return None
        return steps_to_settle(self.residual_max, self._level(), weight_sum=self.chip.weight_sum(self.steps), leak=self.chip.leak)

    def _floor(self) -> float | None:
        """Return the largest residual times A_T/A_infinity."""
        return self.residual_max * self.chip.weight_sum(self.steps) * (1.0 - self.chip.leak) if self._subtracts else None

    def _slopes(self) -> tuple[float | None, float | None]:
        """Return the slopes of log length (measured) and of log 1/A (predicted by E11) over log T."""
        if self.steps < SLOPE_STEPS_MIN:
            return None, None
        moments = [self.steps // part for part in _PARTS]
        predicted = _slope(moments, [1.0 / self.chip.weight_sum(t) for t in moments]) if self._subtracts else None
        return (_slope(moments, list(self.lengths)) if (self.lengths > 0).all() else None), predicted


def _slope(steps: list[int], lengths: list[float]) -> float:
    """Return the slope of the least-squares line through (log steps, log lengths)."""
    x, y = np.array([log(t) for t in steps]), np.array([log(length) for length in lengths])
    return float(((x - x.mean()) * (y - y.mean())).sum() / np.square(x - x.mean()).sum())
