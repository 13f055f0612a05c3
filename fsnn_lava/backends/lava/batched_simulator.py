"""A session of batched Lava processes: built once, used for any number of batches. State is reset between them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork, Synapse
from fsnn_lava.ir.result import Arrays, Result
from fsnn_lava.ir.run_arguments import checked_steps

require_lava()

from fsnn_lava.backends.lava.batched_processes import BatchedProcesses  # noqa: E402
from fsnn_lava.backends.lava.channel_order import channels_first  # noqa: E402
from fsnn_lava.backends.lava.model_selection import ByTag  # noqa: E402
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
        """End all processes; may be called twice."""
        self.session.close()

    def run(self, values: NDArray[np.uint8]) -> Result:
        """Run one batch: `values` [B, *shape], or [B, T, *shape] of events, checked by the caller; at most `batch` samples."""
        if len(values) > self.batch:
            raise BadArgument(f"a batch has {len(values)} samples, more than batch={self.batch}")
        self._graph.load(values)
        start = time.perf_counter()
        self.session.run(self._graph.period)
        return self._result(values, time.perf_counter() - start)

    def _feedback(self) -> list[tuple[Synapse, tuple[Any, int]]]:
        """Every feedback synapse, the record of its source, and its place among that record's late messages."""
        return [(synapse, self._graph.late(number)) for number, synapse in enumerate(self.chip.feedback)]

    def _trains(self, samples: int) -> Arrays:
        """[B, T, *shape] per layer: the recorded messages."""
        pairs = zip(self._graph.spikes or (), self.chip.layers, strict=True)
        return tuple(channels_first(train[:, :samples].swapaxes(0, 1), layer.shape) for train, layer in pairs)

    @abstractmethod
    def _processes(self) -> Graph:
        """The processes of the network."""

    @abstractmethod
    def _result(self, values: NDArray[np.uint8], seconds: float) -> Result:
        """What the processes left in their records."""
