"""Is what a backend recorded of a run with delta encoding consistent? Messages, rates and totals of every sample."""

from __future__ import annotations

import numpy as np

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import Rates
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.checks.record import RecordCheck


class DeltaRecordCheck(RecordCheck):
    """RecordCheck for delta encoding: counts are messages, traces are the rates that were sent, and trains their changes.

    With `stock` a neuron is a pair of neurons, which may both send in one step (ir/stock_delta.py).
    """

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        super().__init__(chip, stock=stock)
        self.stock = stock

    def add(self, batch: Batch, mapped: Rates) -> None:
        """`mapped` is f(a); the residual check judges it."""
        result, steps = batch.result, batch.steps
        most = 2 * steps if self.stock else steps
        for index in range(len(self.chip.layers)):
            counts, told = result.counts[index], result.traces[index]
            self._note(batch, (counts < 0) | (counts > most), f"a neuron sent fewer than 0 or more than {most} messages", index)
            self._note(batch, (counts == 0) & (told != 0), "a neuron that sent no message has a non-zero rate", index)
            if result.spikes is not None:
                train = result.spikes[index].astype(np.int64)
                sent = (train != 0).sum(axis=1)
                wrong = sent > counts if self.stock else sent != counts
                self._note(batch, wrong, "the number of messages differs from the count", index)
                self._note(batch, train.sum(axis=1) != told, "the changes do not add up to the recorded rate", index)
        self._note(batch, result.updates != self._updates(steps), f"neuron updates must be {self._updates(steps)}")
        sent = sum(counts.reshape(batch.samples, -1).sum(axis=1, dtype=np.int64) for counts in result.counts)
        if result.messages is not None:
            self._note(batch, result.messages.sum(axis=1) != sent, "the messages per step do not add up to the messages per neuron")
        self.samples += batch.samples
