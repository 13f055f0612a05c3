"""Run a ChipNetwork on our own Lava processes, a batch at a time; every spike and potential equals the emulator's."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from fsnn_lava.backends.lava.requirement import require_lava

require_lava()

from fsnn_lava.backends.lava.batched_graph import BatchedGraph  # noqa: E402
from fsnn_lava.backends.lava.batched_simulator import BatchedSimulator  # noqa: E402
from fsnn_lava.backends.lava.neuron_record import NeuronRecord  # noqa: E402


class Simulator(BatchedSimulator[BatchedGraph]):
    """The Lava processes of one network, built once and used for any number of batches; state is reset between them.

    with Simulator(chip, batch=64) as simulator:
        result = simulator.run(values)
    """

    def _processes(self) -> BatchedGraph:
        return BatchedGraph(self.chip, batch=self.batch, steps=self.steps, spikes=self.keeps_spikes)

    def _states(self, record: NeuronRecord) -> tuple[NDArray[Any], NDArray[Any]]:
        return record.counts if record.traces is None else record.traces, record.potentials
