"""Run a ChipNetwork with delta encoding on our own Lava processes; every message and sum equals the emulator's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.limit_cycle import limit_cycles
from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.ir.result import Result

require_lava()

from fsnn_lava.backends.lava.batched_simulator import BatchedSimulator  # noqa: E402
from fsnn_lava.backends.lava.delta_graph import DeltaGraph, check_delta_graph_input  # noqa: E402
from fsnn_lava.backends.lava.delta_record import DeltaRecord  # noqa: E402


class DeltaSimulator(BatchedSimulator[DeltaGraph]):
    """The Lava processes of one network, built once and used for any number of batches; state is reset between them."""

    def _processes(self) -> DeltaGraph:
        check_delta_graph_input(self.chip)
        return DeltaGraph(self.chip, batch=self.batch, steps=self.steps, spikes=self.keeps_spikes)

    def _states(self, record: DeltaRecord) -> tuple[NDArray[Any], NDArray[Any]]:
        return record.told, record.sums

    def _result(self, values: NDArray[np.uint8], seconds: float) -> Result:
        chip, n = self.chip, len(values)
        messages, hashes = np.zeros((n, self.steps), np.int32), np.zeros((n, self.steps), np.uint64)
        for record in self._graph.records:
            messages += record.messages[:n]
            hashes += record.hashes[:n]
        cycles = limit_cycles(hashes, messages, longest_delay=max([chip.delay(s) for s in chip.feedback], default=0))
        return replace(super()._result(values, seconds), messages=messages, cycles=cycles)
