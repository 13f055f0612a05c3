"""Run a ChipNetwork with delta encoding on our own Lava processes; every message and sum equals the emulator's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.limit_cycle import limit_cycles
from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.ir.network import INPUT, ChipNetwork
from fsnn_lava.ir.result import Arrays, Result

require_lava()

from fsnn_lava.backends.lava.batched_simulator import BatchedSimulator  # noqa: E402
from fsnn_lava.backends.lava.channel_order import channels_first  # noqa: E402
from fsnn_lava.backends.lava.delta_graph import DeltaGraph, check_delta_input  # noqa: E402
from fsnn_lava.backends.lava.operation_counts import count_updates, fan_out  # noqa: E402


class DeltaSimulator(BatchedSimulator[DeltaGraph]):
    """The Lava processes of one network, built once and used for any number of batches; state is reset between them."""

    def _processes(self) -> DeltaGraph:
        check_delta_input(self.chip)
        return DeltaGraph(self.chip, batch=self.batch, steps=self.steps)  # operations are counted from every message

    def _result(self, values: NDArray[np.uint8], seconds: float) -> Result:
        chip, graph, n = self.chip, self._graph, len(values)
        layers = list(zip(chip.layers, graph.records, strict=True))
        late = tuple(channels_first(record.late[place][1][:n], chip.layer(s.source).shape) for s, (record, place) in self._feedback())
        trains = self._trains(n)
        messages, hashes = np.zeros((n, self.steps), np.int32), np.zeros((n, self.steps), np.uint64)
        for position, (_, record) in enumerate(layers):
            messages += record.messages[:n]
            hashes += record.hashes[:n] * np.uint64(2 * position + 1)
        return Result(
            backend="sim",
            graph="batched",
            steps=self.steps,
            digest=chip.digest(),
            weight_sum=chip.weight_sum(self.steps),
            readout_scale=chip.readout_scale,
            counts=tuple(channels_first(record.counts[:n], layer.shape) for layer, record in layers),
            traces=tuple(channels_first(record.told[:n], layer.shape).astype(np.float64) for layer, record in layers),
            late=late,
            late_traces=tuple(part.astype(np.float64) for part in late),
            potentials=tuple(channels_first(record.sums[:n], layer.shape) for layer, record in layers),
            readout=graph.readout[:n].copy(),
            clipped=tuple(channels_first(record.clipped[:n], layer.shape) for layer, record in layers),
            clip_count=np.stack([*(record.clip_count[:n] for _, record in layers), graph.readout_clips[:n]], axis=1),
            operations=_count_delta_operations(chip, values, trains),
            updates=count_updates(chip, n, self.steps),
            spikes=trains if self.keeps_spikes else None,
            messages=messages,
            cycles=limit_cycles(hashes, messages, longest_delay=max([chip.delay(s) for s in chip.feedback], default=0)),
            seconds=seconds,
        )


def _count_delta_operations(chip: ChipNetwork, values: NDArray[np.uint8], trains: Arrays) -> NDArray[np.int64]:
    """[B] weights touched: every message that arrived, and every non-zero value of the input once, times the fan-out of its sender."""
    samples, steps = len(values), trains[0].shape[1]
    total = np.count_nonzero(trains[-1].reshape(samples, -1), axis=1).astype(np.int64) * chip.readout.classes
    for synapse in chip.synapses:
        if synapse.source == INPUT:
            shape, sent = chip.input.shape, (values != 0).astype(np.int64)
        else:
            index = chip.index(synapse.source)
            shape, arrived = chip.layers[index].shape, trains[index][:, : max(0, steps - chip.delay(synapse))]
            sent = np.count_nonzero(arrived, axis=1)
        total += (sent * fan_out(synapse, shape, chip.layer(synapse.target).shape)).reshape(samples, -1).sum(axis=1)
    return total
