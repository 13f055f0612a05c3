"""Run batches on Lava processes that are built once and used for any number of batches; their state is reset in between."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Arrays, Result
from fsnn_lava.ir.run_arguments import checked_steps

require_lava()

from fsnn_lava.backends.lava.batched_processes import BatchedProcesses  # noqa: E402
from fsnn_lava.backends.lava.channel_order import channels_first  # noqa: E402
from fsnn_lava.backends.lava.model_selection import ByTag  # noqa: E402
from fsnn_lava.backends.lava.operation_counts import count_operations, count_updates  # noqa: E402
from fsnn_lava.backends.lava.quiet_logging import quiet_logging  # noqa: E402
from fsnn_lava.backends.lava.session import Session  # noqa: E402

Graph = TypeVar("Graph", bound=BatchedProcesses[Any])
Simulation = TypeVar("Simulation", bound="BatchedSimulator[Any]")


class BatchedSimulator(ABC, Generic[Graph]):
    """The Lava processes of one network, for batches of at most `batch` samples. Use it in a `with` statement."""

    def __init__(self, chip: ChipNetwork, *, batch: int, steps: int | None = None, spikes: bool = False) -> None:
        self.chip, self.batch, self.steps, self.keeps_spikes = chip, batch, checked_steps(chip, steps), spikes
        if batch < 1:
            raise BadArgument(f"batch must be at least 1, got {batch}")
        with quiet_logging():
            self._graph = self._processes()
            self.session = Session(self._graph.processes, ByTag(), heartbeat=self._graph.heartbeat)

    def __enter__(self: Simulation) -> Simulation:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all batched processes. May be called twice."""
        self.session.close()

    def run(self, values: NDArray[np.uint8]) -> Result:
        """Run one batch: `values` [B, *shape], or [B, T, *shape] of events, checked by the caller; at most `batch` samples."""
        if len(values) > self.batch:
            raise BadArgument(f"a batch has {len(values)} samples, more than batch={self.batch}")
        self._graph.load(values)
        start = time.perf_counter()
        self.session.run(self._graph.period)
        return self._result(values, time.perf_counter() - start)

    def _trains(self, samples: int) -> Arrays:
        """Return the recorded messages, [B, T, *shape] per layer."""
        pairs = zip(self._graph.spikes or (), self.chip.layers, strict=True)
        return tuple(channels_first(train[:, :samples].swapaxes(0, 1), layer.shape) for train, layer in pairs)

    @abstractmethod
    def _processes(self) -> Graph:
        """Build the processes of the network."""

    def _result(self, values: NDArray[np.uint8], seconds: float) -> Result:
        """Build the Result from the records of the processes."""
        chip, graph, n = self.chip, self._graph, len(values)
        states = [self._states(record) for record in graph.records]
        late = [record.late[place] for record, place in (graph.late(number) for number in range(len(chip.feedback)))]
        counts, missed = self._layers([record.counts for record in graph.records], n), self._sources([part.counts for part in late], n)
        late_traces = self._sources([part.traces for part in late], n)
        return Result(
            backend="sim",
            graph="batched",
            steps=self.steps,
            digest=chip.digest(),
            weight_sum=chip.weight_sum(self.steps),
            readout_scale=chip.readout_scale,
            counts=counts,
            traces=self._layers([trace.astype(np.float64) for trace, _ in states], n),
            late=missed if chip.delta is None else tuple(changes.astype(np.int32) for changes in late_traces),
            late_traces=late_traces,
            potentials=self._layers([state for _, state in states], n),
            readout=graph.readout[:n].copy(),
            clipped=self._layers([record.clipped for record in graph.records], n),
            clip_count=np.stack([*(record.clip_count[:n] for record in graph.records), graph.readout_clips[:n]], axis=1),
            operations=count_operations(chip, values, counts, missed, self.steps if chip.delta is None else 1),
            updates=count_updates(chip, n, self.steps),
            spikes=self._trains(n) if self.keeps_spikes else None,
            seconds=seconds,
        )

    def _layers(self, parts: Sequence[NDArray[Any]], samples: int) -> Arrays:
        """Reshape [B, n] of each layer to [B, *shape], dropping the unused part of the batch."""
        return tuple(channels_first(part[:samples], layer.shape) for part, layer in zip(parts, self.chip.layers, strict=True))

    def _sources(self, parts: Sequence[NDArray[Any]], samples: int) -> Arrays:
        """Do the same as `_layers` for the source of each feedback synapse."""
        shapes = [self.chip.layer(synapse.source).shape for synapse in self.chip.feedback]
        return tuple(channels_first(part[:samples], shape) for part, shape in zip(parts, shapes, strict=True))

    @abstractmethod
    def _states(self, record: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the traces and final states of a layer, each [B, n]."""
