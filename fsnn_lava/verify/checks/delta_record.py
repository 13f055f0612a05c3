"""Check that the record of a run with delta encoding is consistent: messages, rates, clips and totals of every sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork, Synapse
from fsnn_lava.ir.rate_map import Rates
from fsnn_lava.ir.stock_delta import stock_neurons
from fsnn_lava.limits import STATE_MAX
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.checks.record import RecordCheck, Rows


class DeltaRecordCheck(RecordCheck):
    """RecordCheck for delta encoding: counts are messages, traces are the rates that were sent, and trains are their changes.

    With `stock`, a neuron may be a pair of neurons, both of which may send in the same step (ir/stock_delta.py).
    """

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        super().__init__(chip, stock=stock)
        self.senders = stock_neurons(chip.delta) if stock and chip.delta is not None else 1

    def add(self, batch: Batch, mapped: Rates) -> None:
        """Add a batch; `mapped` is f(a)."""
        for index in range(len(self.chip.layers)):
            self._add_messages(batch, index)
            self._add_trains(batch, index)
            self._add_clips(batch, index, 2 * batch.steps)  # the sum and the drive
        self._add_totals(batch)
        self._add_residual(batch, mapped)
        self.samples += batch.samples

    def _add_messages(self, batch: Batch, index: int) -> None:
        result, most = batch.result, self.senders * batch.steps
        counts, told = result.counts[index], result.traces[index]
        self._note(batch, (counts < 0) | (counts > most), f"a neuron sent fewer than 0 or more than {most} messages", index)
        self._note(batch, (counts == 0) & (told != 0), "a neuron that sent no message has a non-zero rate", index)
        beyond = (np.abs(result.potentials[index].astype(np.int64)) > STATE_MAX) & (result.clipped[index] == 0)
        self._note(batch, beyond, f"a sum exceeds {STATE_MAX}, but no clip was recorded", index)

    def _add_trains(self, batch: Batch, index: int) -> None:
        result = batch.result
        if result.spikes is None:
            return
        train, counts = result.spikes[index].astype(np.int64), result.counts[index]
        sent = (train != 0).sum(axis=1)
        wrong = sent > counts if self.stock else sent != counts  # the messages of a pair may cancel
        self._note(batch, wrong, "the number of messages differs from the count", index)
        self._note(batch, train.sum(axis=1) != result.traces[index], "the changes do not add up to the recorded rate", index)
        if not self.stock:
            self._add_changes(batch, train, index)
        for position, synapse in enumerate(self.chip.feedback):
            if self.chip.index(synapse.source) == index:
                tail = train[:, self._on_time(batch, synapse) :].sum(axis=1)
                self._note(batch, tail != result.late[position], "the last changes are not those in flight", index)

    def _add_changes(self, batch: Batch, train: NDArray[np.int64], index: int) -> None:
        """Check that every change is at least the dead band, and that the rates stay between 0 and the largest (E14)."""
        small = (train != 0) & (np.abs(train) < batch.delta.dead_bands[index])
        self._note(batch, np.any(small, axis=1), "a change is smaller than the dead band", index)
        sent = np.cumsum(train, axis=1)
        outside = (sent < 0) | (sent > batch.delta.ceiling)
        self._note(batch, np.any(outside, axis=1), f"a rate that was sent is not between 0 and {batch.delta.ceiling}", index)

    def _add_totals(self, batch: Batch) -> None:
        result = batch.result
        self._add_scales(batch)
        self._note(batch, result.updates != self._updates(batch.steps), f"neuron updates must be {self._updates(batch.steps)}")
        missed = [self._missed(batch, position) for position in range(len(self.chip.feedback))]
        low, high = (self._operations(batch, [each[end] for each in missed], 1) for end in (1, 0))
        outside = (result.operations < low) | (result.operations > high)
        self._note(batch, outside, "the number of synaptic operations does not match the messages")
        beyond = (np.abs(result.readout.astype(np.int64)) > STATE_MAX).any(axis=1) & (result.clip_count[:, -1] == 0)
        self._note(batch, beyond, f"a sum of the readout exceeds {STATE_MAX}, but no clip was recorded", len(self.chip.layers))
        if result.messages is None:
            return
        sent = sum(counts.reshape(batch.samples, -1).sum(axis=1, dtype=np.int64) for counts in result.counts)
        self._note(batch, result.messages.sum(axis=1) != sent, "the messages per step do not add up to the messages per neuron")
        most = self.senders * sum(layer.size for layer in self.chip.layers)
        impossible = np.any((result.messages < 0) | (result.messages > most), axis=1)
        self._note(batch, impossible, f"a step has fewer than 0 or more than {most} messages")
        if result.cycles is not None:
            self._note(batch, (result.cycles < 0) | (result.cycles >= batch.steps), "the period of a limit cycle is impossible")
        if result.spikes is not None and not self.stock:
            each = sum((train != 0).reshape(batch.samples, batch.steps, -1).sum(axis=2) for train in result.spikes)
            self._note(batch, (result.messages != each).any(axis=1), "the messages per step are not those of the recorded changes")

    def add_rows(self, rows: Rows, *, steps: int, first: int, readout_scale: float) -> None:
        """Cross-check the columns of the samples from `first` on; `rows` also has the messages of every step and the limit cycles."""
        super().add_rows(rows, steps=steps, first=first, readout_scale=readout_scale)
        wrong = rows["messages"].sum(axis=1, dtype=np.int64) != rows["layer_spikes"].sum(axis=1)
        self._note_rows(wrong, "the messages per step do not add up to those of the layers", first)
        self._note_rows(np.any(rows["messages"] < 0, axis=1), "a step has fewer than 0 messages", first)
        self._note_rows((rows["cycles"] < 0) | (rows["cycles"] >= steps), "the period of a limit cycle is impossible", first)

    def _missed(self, batch: Batch, position: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the fewest and the most messages of a feedback synapse that can have been in flight at the end, [B, *source] each."""
        result, synapse = batch.result, self.chip.feedback[position]
        index, on_time = self.chip.index(synapse.source), self._on_time(batch, synapse)
        counts = result.counts[index].astype(np.int64)
        fewest = np.maximum(counts - self.senders * on_time, (result.late[position] != 0).astype(np.int64))
        most = np.minimum(counts, self.senders * (batch.steps - on_time))
        if result.spikes is not None:
            tail = (result.spikes[index][:, on_time:] != 0).sum(axis=1)
            fewest, most = np.maximum(fewest, tail), most if self.stock else tail
        return fewest, most

    def _on_time(self, batch: Batch, synapse: Synapse) -> int:
        """Return how many of the first steps of a synapse's source reach the target before the end."""
        return max(0, batch.steps - self.chip.delay(synapse))
