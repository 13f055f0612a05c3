"""Open the backend of a run: the requested one or an error; there is no fallback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.availability import require_backend
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import executed_network
from fsnn_lava.running.options import RunOptions

Values = NDArray[np.uint8]
RunBatch = Callable[[Values], Result]


@contextmanager
def open_backend(chip: ChipNetwork, options: RunOptions) -> Iterator[RunBatch]:
    """Open the backend: yield a function that runs one batch of at most `options.batch` checked values, with the residual if requested.

    Raises BackendMissing if the backend cannot run here.
    """
    require_backend(options.backend)
    with _open_simulator(chip, options) as run_batch:
        if not options.residual:
            yield run_batch
            return
        from fsnn_lava.ir.residual_curve import ResidualCurve

        curve = ResidualCurve(executed_network(chip, options.executed_graph))
        yield lambda values: curve.added(run_batch(values), values, keep_spikes=options.spikes)


@contextmanager
def _open_simulator(chip: ChipNetwork, options: RunOptions) -> Iterator[RunBatch]:
    """Yield the backend's own run function; each backend is imported only when it is used."""
    steps, spikes = options.steps, options.spikes or options.residual
    if chip.delta is not None and options.backend == "emu":
        from fsnn_lava.backends.emulator.delta import DeltaEmulator

        delta = DeltaEmulator(chip)
        yield lambda values: delta.run(values, steps=steps, spikes=spikes)
    elif options.backend == "emu":
        from fsnn_lava.backends.emulator.run import Emulator

        emulator = Emulator(chip)
        yield lambda values: emulator.run(values, steps=steps, spikes=spikes)
    elif options.backend == "loihi2":
        from fsnn_lava.backends.lava.loihi2 import backend as loihi2

        yield lambda values: loihi2.run_on_loihi2(chip, values, steps=steps, spikes=spikes)
    elif options.graph == "stock":
        from fsnn_lava.backends.lava.stock_simulator import StockSimulator

        yield StockSimulator(chip, steps=steps, spikes=spikes).run
    elif chip.delta is not None:
        from fsnn_lava.backends.lava.delta_simulator import DeltaSimulator

        with DeltaSimulator(chip, batch=options.batch, steps=steps, spikes=spikes) as delta_simulator:
            yield delta_simulator.run
    else:
        from fsnn_lava.backends.lava.simulator import Simulator

        with Simulator(chip, batch=options.batch, steps=steps, spikes=spikes) as simulator:
            yield simulator.run
