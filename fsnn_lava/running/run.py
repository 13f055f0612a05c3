"""Run a ChipNetwork: `run` on what fits in memory, `run_batches` on any stream. The backend is the one asked for, or an error."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.availability import BACKENDS, require
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result, concatenate
from fsnn_lava.ir.run_arguments import check_values, checked_steps
from fsnn_lava.ir.stock_network import executed

if TYPE_CHECKING:
    from fsnn_lava.ir.residual_curve import ResidualCurve

Values = NDArray[np.uint8]
Progress = Callable[[int, int], None]  # samples done, samples in all
GRAPHS = ("batched", "stock")
BATCH_BYTES = 2**26  # of results that one batch of the emulator may take
BATCH_MAX = 256


def run(
    chip: ChipNetwork,
    values: Values,
    *,
    backend: str = "emu",
    steps: int | None = None,
    batch: int | None = None,
    spikes: bool = False,
    residual: bool = False,
    graph: str = "batched",
    progress: Progress | None = None,
) -> Result:
    """Run all samples: `values` are raw, [B, *shape] or [B, T, *shape] of events. `spikes` also keeps every spike train,
    `residual` ||f(a) - a|| after every step.

    backend "emu" is the emulator, "sim" Lava's processes (graph "batched": ours, "stock": only Lava's own), "loihi2" the chip.
    """
    steps = checked_steps(chip, steps)
    check_values(chip, values, steps)
    size = checked_batch(chip, batch, len(values), backend=backend)
    parts = (values[start : start + size] for start in range(0, len(values), size))
    results = []
    options: dict[str, Any] = {"backend": backend, "steps": steps, "spikes": spikes, "residual": residual, "graph": graph}
    for result in run_batches(chip, parts, batch=size, **options):
        results.append(result)
        if progress is not None:
            progress(sum(part.samples for part in results), len(values))
    return concatenate(results)


def run_batches(
    chip: ChipNetwork,
    batches: Iterable[Values],
    *,
    backend: str = "emu",
    steps: int | None = None,
    batch: int | None = None,
    spikes: bool = False,
    residual: bool = False,
    graph: str = "batched",
) -> Generator[Result, None, None]:
    """One Result per batch, as they come; no more than one batch is held. `batch` is the largest number of samples in one."""
    steps = checked_steps(chip, steps)
    size = checked_batch(chip, batch, BATCH_MAX, backend=backend)
    curve = None
    with opened(chip, backend=backend, steps=steps, batch=size, spikes=spikes or residual, graph=graph) as go:
        for values in batches:
            check_values(chip, values, steps)
            if len(values) > size:
                raise BadArgument(f"a batch has {len(values)} samples, more than batch={size}")
            result = go(values)
            if residual:
                curve = curve or _curve(executed(chip, result.graph))
                result = curve.added(result, values, keep_spikes=spikes)
            yield result


@contextmanager
def opened(chip: ChipNetwork, *, backend: str, steps: int, batch: int, spikes: bool, graph: str) -> Iterator[Callable[[Values], Result]]:
    """A function that runs one batch, while the block lasts. BackendMissing if that backend cannot run here."""
    if graph not in GRAPHS:
        raise BadArgument(f"graph must be one of {', '.join(GRAPHS)}, got {graph!r}")
    require(backend)
    if backend == "emu":
        from fsnn_lava.backends.emulator.run import Emulator

        emulator = Emulator(chip)
        yield lambda values: emulator.run(values, steps=steps, spikes=spikes)
    elif backend == "sim" and graph == "batched":
        from fsnn_lava.backends.lava.simulator import Simulator

        with Simulator(chip, batch=batch, steps=steps, spikes=spikes) as simulator:
            yield simulator.run
    elif backend == "sim":
        from fsnn_lava.backends.lava import simulator as lava_simulator

        yield lambda values: lava_simulator.run(chip, values, steps=steps, batch=batch, spikes=spikes, graph=graph)
    else:
        from fsnn_lava.backends.lava.loihi2 import backend as loihi2

        yield lambda values: loihi2.run(chip, values, steps=steps, batch=batch, spikes=spikes, graph=graph, progress=None)


def _curve(chip: ChipNetwork) -> ResidualCurve:
    from fsnn_lava.ir.residual_curve import ResidualCurve

    return ResidualCurve(chip)


def checked_batch(chip: ChipNetwork, batch: int | None, samples: int, *, backend: str) -> int:
    """How many samples to run together; without a wish as many as a moderate amount of memory holds."""
    if backend not in BACKENDS:
        raise BadArgument(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if batch is not None:
        if batch < 1:
            raise BadArgument(f"batch must be at least 1, got {batch}")
        return batch
    if backend == "sim":
        from fsnn_lava.backends.lava.simulator import default_batch

        return default_batch(chip, max(1, samples))
    neurons = sum(layer.size for layer in chip.layers) + sum(chip.layer(s.source).size for s in chip.feedback)
    return max(1, min(BATCH_MAX, samples, BATCH_BYTES // (24 * neurons)))
