"""Every spike and potential of a backend against the emulator: equal, or where they first part, with both states there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.chip.limits import STATE_FRACTION_BITS
from fsnn_lava.chip.network import READOUT, ChipNetwork
from fsnn_lava.compare.batch import Batch, neuron_index
from fsnn_lava.compare.verdict import OFFENDERS_KEPT, Check
from fsnn_lava.emulator.run import Emulator
from fsnn_lava.result import Result

LINK = "integer spikes → backend"
EMULATOR_SAMPLES = 256  # of a run that the emulator itself made, so many are run again
_DETAILED = 3  # samples whose first divergence is looked for


class SpikesCheck:
    """Runs the emulator beside the backend. A run of the emulator itself is repeated for its first samples only."""

    def __init__(self, chip: ChipNetwork) -> None:
        self.chip = chip
        self.emulator = Emulator(chip)
        self.samples = self.different = self.seen_trains = 0
        self.spikes = self.distance = 0  # all spikes, and by how many counts they differ
        self.offenders: list[dict[str, Any]] = []

    def add(self, batch: Batch) -> None:
        rows = batch.samples
        if batch.result.backend == "emu":
            rows = min(rows, EMULATOR_SAMPLES - self.samples)
        if rows <= 0:
            return
        part = batch.result.part(slice(0, rows))
        expected = self.emulator.run(batch.values[:rows], steps=batch.steps, spikes=part.spikes is not None)
        wrong = differing(part, expected)
        self.samples += rows
        self.seen_trains += rows if part.spikes is not None else 0
        self.different += int(np.count_nonzero(wrong))
        self.spikes += int(sum(int(c.sum()) for c in expected.counts))
        self.distance += int(sum(int(np.abs(a.astype(np.int64) - b).sum()) for a, b in zip(part.counts, expected.counts, strict=True)))
        for row in np.flatnonzero(wrong)[: max(0, _DETAILED - len(self.offenders))]:
            self.offenders += self._locate(batch, part.part(slice(row, row + 1)), int(row))
        del self.offenders[OFFENDERS_KEPT:]

    def _locate(self, batch: Batch, got: Result, row: int) -> list[dict[str, Any]]:
        """The first divergence of one sample."""
        values = batch.values[row : row + 1]
        expected = self.emulator.run(values, steps=batch.steps, spikes=True)
        where = {"sample": batch.sample(row)}
        if got.spikes is not None and expected.spikes is not None:
            found = first_divergence(got.spikes, expected.spikes)
            if found is not None:
                return [{**where, **self._at_step(values, batch.steps, got, *found)}]
        return [{**where, **self._at_end(got, expected)}]

    def _at_step(self, values: NDArray[np.uint8], steps: int, got: Result, layer: int, step: int, flat: int) -> dict[str, Any]:
        """Both sides at the first step where a spike differs. Up to there all spikes are equal, so both neurons were given the same."""
        names = self.chip.layers[layer]
        if self.chip.input.kind == "events":
            values = values[:, :step]
        after = self.emulator.run(values, steps=step, spikes=True)
        before = self.emulator.run(values[:, : step - 1] if self.chip.input.kind == "events" else values, steps=step - 1).potentials[layer].reshape(-1)[flat] if step > 1 else 0
        spike = int(after.spikes[layer].reshape(step, -1)[-1, flat]) if after.spikes else 0
        theirs = int(got.spikes[layer].reshape(steps, -1)[step - 1, flat]) if got.spikes else 0
        threshold = int(names.per_neuron(names.threshold).reshape(-1)[flat]) << STATE_FRACTION_BITS
        potential = int(after.potentials[layer].reshape(-1)[flat])
        what = (
            f"the backend {'spikes' if theirs else 'is silent'}, the emulator {'spikes' if spike else 'is silent'}: "
            f"its u goes from {int(before)} to {potential}, threshold {threshold} (units 2^-6)"
        )
        return {
            "layer": names.name, "neuron": neuron_index(names, flat), "step": step, "backend_spike": theirs, "emulator_spike": spike, "emulator_before": int(before),
            "emulator_after": potential, "threshold": threshold, "what": what,
        }  # fmt: skip

    def _at_end(self, got: Result, expected: Result) -> dict[str, Any]:
        """Without spike trains (or with equal ones) only the end can be compared: the first neuron that differs there."""
        for index, layer in enumerate(self.chip.layers):
            fields = (got.counts[index], got.potentials[index], got.clipped[index]), (expected.counts[index], expected.potentials[index], expected.clipped[index])
            wrong = np.flatnonzero(np.any([a.reshape(-1) != b.reshape(-1) for a, b in zip(*fields, strict=True)], axis=0))
            if len(wrong):
                flat = int(wrong[0])
                states = [(int(r.counts[index].reshape(-1)[flat]), int(r.potentials[index].reshape(-1)[flat])) for r in (got, expected)]
                times = [int(t) + 1 for t in np.flatnonzero(expected.spikes[index].reshape(got.steps, -1)[:, flat])] if expected.spikes else []
                hint = "" if got.spikes is not None else "; record spikes to see the step"
                what = f"{states[0][0]} spikes and u = {states[0][1]} at the end, the emulator {states[1][0]} and {states[1][1]}, {len(wrong)} neurons of the layer differ{hint}"
                return {"layer": layer.name, "neuron": neuron_index(layer, flat), "backend": states[0], "emulator": states[1], "emulator_spikes_at": times, "what": what}
        wrong = np.flatnonzero(got.readout[0] != expected.readout[0])
        if len(wrong):
            flat = int(wrong[0])
            what = f"u = {int(got.readout[0, flat])} at the end, the emulator {int(expected.readout[0, flat])}"
            return {"layer": READOUT, "neuron": [flat], "what": what}
        return {"what": "late spikes, traces or clip counts differ, spikes and potentials do not"}

    def check(self) -> Check:
        passed = self.different == 0
        what = "every spike and potential" if self.seen_trains == self.samples else "every spike count and potential"
        if passed:
            summary = f"{what} equals the emulator's ({self.samples} samples, {self.spikes} spikes)"
        else:
            first = self.offenders[0]
            place = f"layer {first['layer']!r}, neuron {tuple(first['neuron'])}" if "neuron" in first else "its bookkeeping"
            step = f", step {first['step']}" if "step" in first else ""
            summary = f"{self.different} of {self.samples} samples differ from the emulator, first sample {first['sample']} in {place}{step}"
        numbers = {"samples": self.samples, "different": self.different, "spikes": self.spikes, "count_distance": self.distance, "trains": self.seen_trains == self.samples}
        return Check(name="spikes", link=LINK, passed=passed, summary=summary, numbers=numbers, offenders=tuple(self.offenders))


def differing(got: Result, expected: Result) -> NDArray[np.bool_]:
    """[B] samples in which anything that a run leaves behind differs. Traces may differ by the rounding of 2 T operations."""
    wrong = np.any(got.readout != expected.readout, axis=1) | np.any(got.clip_count != expected.clip_count, axis=1)
    for name in ("counts", "late", "potentials", "clipped", "spikes"):
        left, right = getattr(got, name), getattr(expected, name)
        if left is None or right is None:
            continue
        for a, b in zip(left, right, strict=True):
            wrong |= (a != b).reshape(len(a), -1).any(axis=1)
    tolerance = 4 * got.steps * 2.0**-53 * max(1.0, got.weight_sum)
    for name in ("traces", "late_traces"):
        for a, b in zip(getattr(got, name), getattr(expected, name), strict=True):
            wrong |= (np.abs(a - b) > tolerance).reshape(len(a), -1).any(axis=1)
    return wrong


def first_divergence(got: tuple[NDArray[Any], ...], expected: tuple[NDArray[Any], ...]) -> tuple[int, int, int] | None:
    """(layer, step in its own time, flat neuron) of the first spike that differs in the chip's time, for one sample; None if all are equal."""
    found: list[tuple[int, int, int, int]] = []
    for index, (a, b) in enumerate(zip(got, expected, strict=True)):
        wrong = np.flatnonzero((a != b).reshape(-1))
        if len(wrong):
            step, flat = divmod(int(wrong[0]), a[0, 0].size)
            found.append((step + index, index, step + 1, flat))
    return min(found)[1:] if found else None
