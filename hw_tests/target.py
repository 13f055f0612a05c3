"""The backend that the cases run on."""

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
    """Return why this target cannot run here, or an empty string."""
    from fsnn_lava.backends import availability as backends

    try:
        backends.require_backend("sim" if name == "stock" else name)
    except BackendMissing as error:
        return str(error)
    return ""


class Target:
    """Run networks on one backend and keep the record."""

    def __init__(self, name: str, record: Record, case: str) -> None:
        self.name, self._record, self._case, self._runs = name, record, case, 0

    @property
    def stock(self) -> bool:
        """Whether this target runs Lava's own processes."""
        return self.name in ("stock", "loihi2")

    def network(self, chip: ChipNetwork) -> ChipNetwork:
        """Return the network that this target actually runs, with which results are to be compared."""
        return stock_equivalent(chip)[0] if self.stock else chip

    def rounding(self, chip: ChipNetwork) -> float:
        """Return how far a potential may be from E9, in units of 2**-6: stock processes round differently with a leak and soft reset."""
        leaky = self.stock and chip.decay > 0 and any(layer.reset == "subtract" for layer in chip.layers)
        return atrlif_error(chip.decay) if leaky else 0.0

    def run(self, chip: ChipNetwork, values: np.ndarray, **options: Any) -> Result:
        """Run the network, check that the result equals the recorded one, and return it."""
        result = self._run(chip, values, options)
        self._runs += 1
        self._record.check(f"{self._case} run {self._runs}", result)
        return result

    def _run(self, chip: ChipNetwork, values: np.ndarray, options: dict[str, Any]) -> Result:
        if self.name == "stock":
            return run(chip, values, backend="sim", graph="stock", **options)
        return run(chip, values, backend=self.name, **options)
