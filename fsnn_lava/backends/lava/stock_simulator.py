"""Run a ChipNetwork on the stock processes that Lava ships, one sample at a time; the chip runs the same graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result, concatenate_results
from fsnn_lava.ir.stock_network import lower_to_stock, stock_equivalent

require_lava()

from fsnn_lava.backends.lava.model_selection import ByTag  # noqa: E402
from fsnn_lava.backends.lava.quiet_logging import quiet_logging  # noqa: E402
from fsnn_lava.backends.lava.session import Session  # noqa: E402
from fsnn_lava.backends.lava.stock_delta_graph import StockDeltaGraph  # noqa: E402
from fsnn_lava.backends.lava.stock_delta_result import stock_delta_result  # noqa: E402
from fsnn_lava.backends.lava.stock_graph import StockGraph  # noqa: E402
from fsnn_lava.backends.lava.stock_result import stock_result  # noqa: E402


class StockSimulator:
    """Runs `stock_equivalent(chip)` on Lava's own processes, one sample at a time. Its Results have that network's digest."""

    def __init__(self, chip: ChipNetwork, *, steps: int, spikes: bool = False) -> None:
        self.equivalent, _ = stock_equivalent(chip)
        self._lowered, self._steps, self._spikes = lower_to_stock(self.equivalent), steps, spikes

    def run(self, values: NDArray[np.uint8]) -> Result:
        """Run stock processes on `values` [B, *shape], or [B, T, *shape] of events, checked by the caller; any number of samples."""
        one = self._spikes_of_sample if self.equivalent.delta is None else self._changes_of_sample
        return concatenate_results([one(sample) for sample in values])

    def _spikes_of_sample(self, sample: NDArray[np.uint8]) -> Result:
        chip = self.equivalent
        current = None if chip.input.kind == "events" else input_current(chip, sample[None])[0]
        with quiet_logging():
            graph = StockGraph(self._lowered, sample, current, steps=self._steps)
            with Session(graph.processes, ByTag(), heartbeat=graph.heartbeat) as session:
                seconds = graph.run(session)
        return stock_result(chip, sample[None], graph.recorded(chip), steps=self._steps, spikes=self._spikes, seconds=seconds)

    def _changes_of_sample(self, sample: NDArray[np.uint8]) -> Result:
        chip = self.equivalent
        current = None if chip.host_drive is None else input_current(chip, sample[None])[0]
        with quiet_logging():
            graph = StockDeltaGraph(self._lowered, sample, current, steps=self._steps)
            with Session(graph.processes, ByTag(), heartbeat=graph.heartbeat) as session:
                seconds = graph.run(session)
        return stock_delta_result(chip, sample[None], graph.recorded(chip), steps=self._steps, spikes=self._spikes, seconds=seconds)
