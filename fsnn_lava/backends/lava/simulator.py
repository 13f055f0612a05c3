"""Run a ChipNetwork on our own Lava processes, a batch at a time; every spike and potential equals the emulator's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.ir.result import Result

require_lava()

from fsnn_lava.backends.lava.batched_graph import BatchedGraph  # noqa: E402
from fsnn_lava.backends.lava.batched_simulator import BatchedSimulator  # noqa: E402
from fsnn_lava.backends.lava.channel_order import channels_first  # noqa: E402
from fsnn_lava.backends.lava.operation_counts import count_operations, count_updates  # noqa: E402


class Simulator(BatchedSimulator[BatchedGraph]):
    """The Lava processes of one network, built once and used for any number of batches; state is reset between them.

    with Simulator(chip, batch=64) as simulator:
        result = simulator.run(values)
    """

    def _processes(self) -> BatchedGraph:
        return BatchedGraph(self.chip, batch=self.batch, steps=self.steps, spikes=self.keeps_spikes)

    def _result(self, values: NDArray[np.uint8], seconds: float) -> Result:
        chip, graph, n = self.chip, self._graph, len(values)
        layers = list(zip(chip.layers, graph.records, strict=True))
        counts = tuple(channels_first(record.counts[:n], layer.shape) for layer, record in layers)
        late = [(record.late[place], chip.layer(s.source).shape) for s, (record, place) in self._feedback()]
        late_counts = tuple(channels_first(part.counts[:n], shape) for part, shape in late)
        clips = [record.clip_count[:n] for _, record in layers] + [graph.readout_clips[:n]]
        return Result(
            backend="sim",
            graph="batched",
            steps=self.steps,
            digest=chip.digest(),
            weight_sum=chip.weight_sum(self.steps),
            readout_scale=float(chip.readout.scale),
            counts=counts,
            traces=tuple(
                channels_first((record.counts if record.traces is None else record.traces)[:n], layer.shape).astype(np.float64)
                for layer, record in layers
            ),
            late=late_counts,
            late_traces=tuple(channels_first(part.traces[:n], shape) for part, shape in late),
            potentials=tuple(channels_first(record.potentials[:n], layer.shape) for layer, record in layers),
            readout=graph.readout[:n].copy(),
            clipped=tuple(channels_first(record.clipped[:n], layer.shape) for layer, record in layers),
            clip_count=np.stack(clips, axis=1),
            operations=count_operations(chip, values, counts, late_counts, self.steps),
            updates=count_updates(chip, n, self.steps),
            spikes=self._trains(n) if self.keeps_spikes else None,
            seconds=seconds,
        )
