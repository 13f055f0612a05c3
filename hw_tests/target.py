"""What a case runs on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from fsnn_lava.errors import BackendMissing
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import atrlif_error, stock_equivalent
from fsnn_lava.running.run import run
from hw_tests.record import Record

TARGETS = ("emu", "sim", "stock", "loihi2")


@cache
def missing(name: str) -> str:
    """Why this target cannot run here, or nothing."""
    from fsnn_lava.backends import availability as backends

    try:
        backends.require_backend("sim" if name == "stock" else name)
    except BackendMissing as error:
        return str(error)
    return ""


class Target:
    """Runs networks on one backend and keeps the record."""

    def __init__(self, name: str, record: Record, case: str) -> None:
        self.name, self._record, self._case, self._runs = name, record, case, 0

    @property
    def stock(self) -> bool:
        """Does this target run Lava's own processes?"""
        return self.name in ("stock", "loihi2")

    def network(self, chip: ChipNetwork) -> ChipNetwork:
        """The network that this target really runs: results are to be compared with it."""
        return stock_equivalent(chip)[0] if self.stock else chip

    def rounding(self, chip: ChipNetwork) -> float:
        """By how much a potential may differ from E9, units 2**-6: stock processes round a leaky neuron that subtracts in their own way."""
        leaky = self.stock and chip.decay > 0 and any(layer.reset == "subtract" for layer in chip.layers)
        return atrlif_error(chip.decay) if leaky else 0.0

    def run(self, chip: ChipNetwork, values: np.ndarray, **options: Any) -> Result:
        """The result of a run; it equals what this target gave when the record was made."""
        result = self._run(chip, values, options)
        self._runs += 1
        self._record.check(f"{self._case} run {self._runs}", result)
        return result

    def _run(self, chip: ChipNetwork, values: np.ndarray, options: dict[str, Any]) -> Result:
        if self.name == "stock":
            return run(chip, values, backend="sim", graph="stock", **options)
        return run(chip, values, backend=self.name, **options)
