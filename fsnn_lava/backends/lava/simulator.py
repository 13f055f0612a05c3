"""Run a ChipNetwork on our own Lava processes, a batch at a time; every spike and potential equals the emulator's."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.run_arguments import checked_steps

require_lava()

from fsnn_lava.backends.lava.batched_graph import BatchedGraph  # noqa: E402
from fsnn_lava.backends.lava.channel_order import channels_first  # noqa: E402
from fsnn_lava.backends.lava.model_selection import ByTag  # noqa: E402
from fsnn_lava.backends.lava.neuron_record import LateSpikes  # noqa: E402
from fsnn_lava.backends.lava.operation_counts import count_operations, count_updates  # noqa: E402
from fsnn_lava.backends.lava.quiet_logging import quiet_logging  # noqa: E402
from fsnn_lava.backends.lava.session import Session  # noqa: E402


class Simulator:
    """The Lava processes of one network, built once and used for any number of batches; state is reset between them.

    with Simulator(chip, batch=64) as simulator:
        result = simulator.run(values)
    """

    def __init__(self, chip: ChipNetwork, *, batch: int, steps: int | None = None, spikes: bool = False) -> None:
        self.chip, self.batch, self.steps = chip, batch, checked_steps(chip, steps)
        if batch < 1:
            raise BadArgument(f"batch must be at least 1, got {batch}")
        with quiet_logging():
            self._graph = BatchedGraph(chip, batch=batch, steps=self.steps, spikes=spikes)
            self.session = Session(self._graph.processes, ByTag(), heartbeat=self._graph.heartbeat)

    def __enter__(self) -> Simulator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes; may be called twice."""
        self.session.close()

    def run(self, values: NDArray[np.uint8]) -> Result:
        """Run one batch: `values` [B, *shape], or [B, T, *shape] of events, checked by the caller; at most `batch` samples."""
        if len(values) > self.batch:
            raise BadArgument(f"a batch has {len(values)} samples, more than batch={self.batch}")
        graph = self._graph
        graph.load(values)
        start = time.perf_counter()
        self.session.run(graph.period)
        seconds = time.perf_counter() - start
        return self._result(values, seconds)

    def _result(self, values: NDArray[np.uint8], seconds: float) -> Result:
        chip, graph, n = self.chip, self._graph, len(values)
        layers = list(zip(chip.layers, graph.records, strict=True))
        counts = tuple(channels_first(record.counts[:n], layer.shape) for layer, record in layers)
        late = [_late(chip, graph, synapse_number) for synapse_number in range(len(chip.feedback))]
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
            spikes=self._spikes(n),
            seconds=seconds,
        )

    def _spikes(self, samples: int) -> tuple[NDArray[np.uint8], ...] | None:
        if self._graph.spikes is None:
            return None
        pairs = zip(self._graph.spikes, self.chip.layers, strict=True)
        return tuple(channels_first(train[:, :samples].swapaxes(0, 1), layer.shape) for train, layer in pairs)


def _late(chip: ChipNetwork, graph: BatchedGraph, number: int) -> tuple[LateSpikes, tuple[int, ...]]:
    """Late spikes of feedback synapse `number`, and the shape of its source."""
    synapse = chip.feedback[number]
    place = [s for s in chip.feedback if s.source == synapse.source].index(synapse)
    index = chip.index(synapse.source)
    return graph.records[index].late[place], chip.layers[index].shape
