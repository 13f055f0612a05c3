"""Check that the record of a run is possible and consistent: counts, traces, late spikes and totals of every sample.

The charge check would miss a count and a potential that are wrong together. Derived numbers are recomputed: predictions,
logits, the totals of every layer, operations and updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import INPUT, READOUT, ChipNetwork
from fsnn_lava.ir.rate_map import Rates, rate_vector_length
from fsnn_lava.ir.stock_network import runs_as_atrlif
from fsnn_lava.limits import STATE_MAX
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, Offender
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_total
from fsnn_lava.verify.neuron_index import neuron_index
from fsnn_lava.verify.synaptic_sums import synaptic_sum_fan_out

LINK = "integer spikes → backend"
Rows = dict[str, NDArray[Any]]  # columns of /rows by name, for some samples
_RELATIVE = 1e-9  # tolerance for a recomputed residual: float64 sums in another order


class RecordCheck(MergedFindings):
    """Counts entries of the record that are impossible or inconsistent."""

    RULES = {**dict.fromkeys(("samples", "rows", "wrong"), merge_total), "offenders": merge_first(OFFENDERS_KEPT)}

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        """`stock`: potentials are differences of two states of Lava's neuron, each of which may use the whole range."""
        self.chip, self.stock, self.potential_max = chip, stock, 2 * STATE_MAX + 1 if stock else STATE_MAX
        self.senders = 1  # number of backend neurons per neuron of the network
        self.fan_out = {id(s): synaptic_sum_fan_out(chip, s) for s in chip.synapses}
        self.samples = self.rows = self.wrong = 0
        self.hashed: bool | None = None  # None without a file
        self.offenders: list[Offender] = []

    def add(self, batch: Batch, mapped: Rates) -> None:
        """Add a batch; `mapped` is f(a)."""
        for index in range(len(self.chip.layers)):
            self._add_counts(batch, index)
            self._add_trains(batch, index)
            self._add_last_spikes(batch, index)
            self._add_clips(batch, index, batch.steps)
        for position in range(len(self.chip.feedback)):
            self._add_late(batch, position)
        self._add_totals(batch)
        self._add_residual(batch, mapped)
        self.samples += batch.samples

    def _add_counts(self, batch: Batch, index: int) -> None:
        counts, steps = batch.result.counts[index], batch.steps
        self._note_outside(batch, counts, 0, steps, f"a spike count is not between 0 and {steps}", index)
        trace = batch.result.traces[index]
        if self.chip.decay == 0:
            self._note(batch, trace != counts, "the trace differs from the count", index)
        else:
            self._note_traces(batch, counts, trace, steps, 0, "the leak-weighted count is impossible for this number of spikes", index)
        most = self.potential_max
        self._note_outside(batch, batch.result.potentials[index], -most, most, f"a potential exceeds {most}", index)

    def _add_late(self, batch: Batch, position: int) -> None:
        """Check that late spikes fit in the last d steps, and all others in the first T - d."""
        synapse, result, steps = self.chip.feedback[position], batch.result, batch.steps
        source, delay = self.chip.index(synapse.source), min(self.chip.delay(synapse), steps)
        counts, late = result.counts[source], result.late[position]
        arrived = counts - late
        what = f"more spikes are late than fit in the last {delay} steps, or more are on time than fit in the first"
        self._note_outside(batch, late, 0, delay, what, source)
        self._note_outside(batch, arrived, 0, steps - delay, what, source)
        early, missing = result.traces[source] - result.late_traces[position], result.late_traces[position]
        what = "the leak-weighted count of late spikes is impossible"
        if self.chip.decay == 0:
            self._note(batch, missing != late, what, source)
        else:
            self._note_traces(batch, late, missing, delay, 0, what, source)
            self._note_traces(batch, arrived, early, steps - delay, delay, what, source)

    def _note_outside(self, batch: Batch, numbers: NDArray[Any], low: int, high: int, what: str, position: int) -> None:
        """Note the numbers that do not lie between `low` and `high`."""
        if numbers.min(initial=low) < low or numbers.max(initial=high) > high:
            self._note(batch, (numbers < low) | (numbers > high), what, position)

    def _note_traces(
        self, batch: Batch, counts: NDArray[Any], traces: NDArray[Any], steps: int, since: int, what: str, position: int
    ) -> None:
        """Note the traces that this many spikes in `steps` steps, `since` steps before the end, cannot produce."""
        low, high = self._possible_traces(counts, steps, since)
        self._note(batch, ~((traces >= low) & (traces <= high)), what, position)  # negated, so that NaN is noted too

    def _possible_traces(self, counts: NDArray[Any], steps: int, since: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the smallest and largest trace of this many spikes in `steps` steps, `since` steps before the end, with a leak."""
        leak = self.chip.leak
        sums = np.concatenate([[0.0], np.cumsum(leak ** np.arange(steps, dtype=np.float64))])  # sums over the last 0, 1, … steps
        number = np.clip(counts, 0, steps)
        room = (8 * (steps + since) * 2.0**-53) * max(1.0, float(sums[-1]))
        return (sums[-1] - sums[steps - number]) * leak**since - room, sums[number] * leak**since + room

    def _add_trains(self, batch: Batch, index: int) -> None:
        result = batch.result
        if result.spikes is None:
            return
        train, counts = result.spikes[index], result.counts[index]
        self._note(batch, np.any((train < 0) | (train > 1), axis=1), "a spike train contains values other than 0 and 1", index)
        self._note(batch, train.sum(axis=1, dtype=np.int64) != counts, "the number of spikes in the train differs from the count", index)
        self._note_train_traces(batch, train, result.traces[index], "the spike train does not have the recorded trace", index)
        for position, synapse in enumerate(self.chip.feedback):
            if self.chip.index(synapse.source) == index:
                tail, what = train[:, max(0, batch.steps - self.chip.delay(synapse)) :], "the spike train does not end with the late spikes"
                self._note(batch, tail.sum(axis=1, dtype=np.int64) != result.late[position], what, index)
                self._note_train_traces(batch, tail, result.late_traces[position], what, index)

    def _note_train_traces(self, batch: Batch, train: NDArray[Any], traces: NDArray[Any], what: str, position: int) -> None:
        """Note the traces that are not the leak-weighted sum of these spikes; without a leak, they are compared with the counts."""
        if self.chip.decay == 0:
            return
        weights = self.chip.leak ** np.arange(train.shape[1] - 1, -1, -1, dtype=np.float64)
        room = (8 * batch.steps * 2.0**-53) * max(1.0, float(weights.sum()))
        self._note(batch, ~(np.abs(np.tensordot(train, weights, axes=(1, 0)) - traces) <= room), what, position)

    def _add_last_spikes(self, batch: Batch, index: int) -> None:
        """Check that a neuron that fired in its last step ends with u >= 0, or u = 0 with reset to zero (E9)."""
        result, potentials = batch.result, batch.result.potentials[index]
        below = potentials != 0 if self.chip.layers[index].reset == "zero" else potentials < 0
        if not below.any():
            return
        fired = np.zeros(potentials.shape, dtype=bool) if result.spikes is None else result.spikes[index][:, -1] > 0
        for position, synapse in enumerate(self.chip.feedback):
            if self.chip.index(synapse.source) == index and self.chip.delay(synapse) > 0:
                fired = fired | (result.late[position] >= min(self.chip.delay(synapse), batch.steps))
        self._note(batch, fired & below, "a neuron fired in its last step, but its final potential is one that it cannot have then", index)

    def _add_clips(self, batch: Batch, index: int, each: int) -> None:
        """Check the clips of a layer; each neuron can be clipped at most `each` times."""
        flags, number = batch.result.clipped[index], batch.result.clip_count[:, index]
        flagged = np.count_nonzero(flags.reshape(batch.samples, -1), axis=1)
        most = each * self.chip.layers[index].size
        wrong = (number < flagged) | ((flagged == 0) & (number > 0)) | (number > most)
        self._note(batch, wrong, "the number of clips does not match the clipped neurons", index)
        self._note(batch, flags > 3, "an unknown kind of clip", index)
        if self.stock and self.chip.delta is None and runs_as_atrlif(self.chip.layers[index]):
            self._note(batch, (flagged > 0) | (number > 0), "clips are recorded, but Lava's neuron does not report any", index)

    def _add_totals(self, batch: Batch) -> None:
        result = batch.result
        self._add_scales(batch)
        self._note(batch, result.updates != self._updates(batch.steps), f"neuron updates must be {self._updates(batch.steps)}")
        wrong = result.operations != self._operations(batch, result.late, batch.steps)
        self._note(batch, wrong, "the number of synaptic operations does not match the spikes")
        beyond = np.abs(result.readout.astype(np.int64)) > STATE_MAX
        self._note(batch, np.any(beyond, axis=1), f"a potential of the readout exceeds {STATE_MAX}", len(self.chip.layers))

    def _add_scales(self, batch: Batch) -> None:
        """Check what rates and logits are computed with; a results file does not store it."""
        result, chip = batch.result, self.chip
        for name, got, wanted in (
            ("readout_scale", result.readout_scale, chip.readout_scale),
            ("weight_sum", result.weight_sum, chip.weight_sum(batch.steps)),
        ):
            if not isclose(got, wanted, rel_tol=_RELATIVE):
                self._note(batch, np.ones(batch.samples, dtype=bool), f"{name} is {got:g}, but {wanted:g} for this network")

    def _add_residual(self, batch: Batch, mapped: Rates) -> None:
        if batch.result.residual is not None:
            curve = batch.result.residual
            last = rate_vector_length(tuple(after - rate for after, rate in zip(mapped, batch.rates, strict=True)))
            near = np.abs(curve[:, -1] - last) <= _RELATIVE * np.maximum(1.0, last)
            self._note(batch, ~near, "the residual after the last step does not match the rates")
            self._note(batch, np.any(~(np.isfinite(curve) & (curve >= 0)), axis=1), "a residual is negative or not finite")

    def _updates(self, steps: int) -> int:
        return steps * (sum(layer.size for layer in self.chip.layers) + self.chip.readout.classes)

    def _operations(self, batch: Batch, late: Sequence[NDArray[Any]], input_steps: int) -> NDArray[np.int64]:
        """Return the number of weights touched by all messages that arrived, [B].

        `late`: the messages per feedback synapse that did not arrive, [B, *source]; a static input is sent in `input_steps` steps.
        """
        result, chip = batch.result, self.chip
        total = result.counts[-1].reshape(batch.samples, -1).sum(axis=1, dtype=np.int64) * chip.readout.classes
        missed = {id(synapse): late[position] for position, synapse in enumerate(chip.feedback)}
        for synapse in chip.synapses:
            if synapse.source == INPUT:
                messages = batch.values != 0
                sent: NDArray[Any] = messages.sum(axis=1) if chip.input.kind == "events" else messages * np.int64(input_steps)
            else:
                sent = result.counts[chip.index(synapse.source)].astype(np.int64) - missed.get(id(synapse), 0)
            total += np.einsum("bn,n->b", sent.reshape(batch.samples, -1), self.fan_out[id(synapse)].reshape(-1))
        return total

    def add_rows(self, rows: Rows, *, steps: int, first: int, readout_scale: float) -> None:
        """Check the columns of the samples from `first` on against each other: everything that follows from other columns."""
        logits = rows["readout"] * (readout_scale / 64 / self.chip.weight_sum(steps))
        most = np.array([layer.size * self.senders for layer in self.chip.layers])  # messages per step
        found = {
            "the recorded prediction is not the class with the largest readout": rows["predictions"] != np.argmax(rows["readout"], axis=1),
            "the recorded logits do not match the readout": (rows["logits"] != logits).any(axis=1),
            "a layer sent more messages than it can": ((rows["layer_spikes"] < 0) | (rows["layer_spikes"] > steps * most)).any(axis=1),
            f"neuron updates must be {self._updates(steps)}": rows["updates"] != self._updates(steps),
            "the number of clips is impossible": ((rows["clip_count"] < 0) | (rows["clip_count"] > self._most_clips(steps))).any(axis=1),
            "the number of operations is impossible": (rows["operations"] < 0) | (rows["operations"] > self._most_operations(steps)),
        }
        if "residual" in rows:
            found["a residual is negative or not finite"] = ~(np.isfinite(rows["residual"]) & (rows["residual"] >= 0)).all(axis=1)
        self.rows += len(logits)
        for what, wrong in found.items():
            self._note_rows(wrong, what, first)

    def _most_clips(self, steps: int) -> NDArray[np.int64]:
        """Return the largest number of clips of every layer and the readout: of the sum and, with delta encoding, of the drive."""
        sizes = [*(layer.size for layer in self.chip.layers), self.chip.readout.classes]
        return np.array(sizes, np.int64) * (steps if self.chip.delta is None else 2 * steps)

    def _most_operations(self, steps: int) -> int:
        """Return the number of operations if every input and every neuron sends in every step."""
        readout = self.chip.layers[-1].size * self.chip.readout.classes
        return steps * self.senders * (readout + sum(int(fan_out.sum()) for fan_out in self.fan_out.values()))

    def add_layer_spikes(self, recorded: NDArray[Any], counts: tuple[NDArray[Any], ...], *, first: int) -> None:
        """Check the recorded totals of every layer, [B, layers], against the counts of its neurons."""
        own = np.stack([layer.reshape(len(layer), -1).sum(axis=1, dtype=np.int64) for layer in counts], axis=1)
        self._note_rows((recorded != own).any(axis=1), "the recorded spikes of the layers do not match those of their neurons", first)

    def add_changed(self, columns: list[str], *, hashed: bool) -> None:
        """Report columns of a file that have changed since they were written; `hashed`: whether the file has hashes that show it."""
        self.hashed = hashed
        for name in columns:
            self.wrong += 1
            what = "values or labels are not those of the run" if name == "data" else f"/{name} is not what the run wrote"
            self.offenders.append({"sample": 0, "what": f"{what} (SHA-256)"})

    def _note_rows(self, wrong: NDArray[np.bool_], what: str, first: int) -> None:
        self.wrong += int(np.count_nonzero(wrong))
        for row in np.flatnonzero(wrong)[: max(0, OFFENDERS_KEPT - len(self.offenders))]:
            self.offenders.append({"sample": first + int(row), "what": what})

    def _note(self, batch: Batch, wrong: NDArray[Any], what: str, position: int | None = None) -> None:
        """Note the set entries of [B] or [B, *shape]; `position` is the index of the layer, and the readout comes last."""
        number = int(np.count_nonzero(wrong))
        if number == 0:
            return
        self.wrong += number
        for place in np.argwhere(wrong)[: max(0, OFFENDERS_KEPT - len(self.offenders))]:
            offender: Offender = {"sample": batch.sample(place[0]), "what": what}
            if position is not None:
                layer = self.chip.layers[position] if position < len(self.chip.layers) else None
                offender["layer"] = layer.name if layer else READOUT
                if layer and len(place) > 1:
                    offender["neuron"] = neuron_index(layer, int(np.ravel_multi_index(tuple(place[1:]), layer.shape)))
            self.offenders.append(offender)

    def check(self) -> Check:
        """Return the finding on the consistency of the record."""
        rest = f", and the rows of {self.rows} samples are consistent" if self.rows else ""
        if self.hashed is False:
            rest += "; the file has no hashes of its columns, so whether labels and rows were changed later is not known"
        summary = f"counts, traces, late spikes and totals of {self.samples} samples are possible and consistent{rest}"
        if self.wrong:
            first = self.offenders[0]
            place = f" in layer {first['layer']!r}" if "layer" in first else ""
            summary = f"the record is inconsistent in {self.wrong} places, first in sample {first['sample']}{place}: {first['what']}"
        numbers = {"samples": self.samples, "rows": self.rows, "wrong": self.wrong, "hashed": self.hashed}
        return Check(
            name="record",
            link=LINK,
            passed=self.wrong == 0,
            summary=summary,
            numbers=numbers,
            offenders=tuple(self.offenders[:OFFENDERS_KEPT]),
        )
