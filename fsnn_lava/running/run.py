"""Run a ChipNetwork: `run` on an array, `run_batches` on a stream. Runs on the requested backend or raises; there is no fallback."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.availability import Backend, require_backend
from fsnn_lava.errors import BackendMissing, BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result, concatenate_results
from fsnn_lava.ir.run_arguments import check_chip, check_values_argument
from fsnn_lava.ir.stock_network import executed_network
from fsnn_lava.running.options import LavaGraph, RunOptions, run_options

Values = NDArray[np.uint8]
RunBatch = Callable[[Values], Result]
ReportSamples = Callable[[int, int], None]  # called with the samples done so far and the total


def run(
    chip: ChipNetwork,
    values: Values,
    *,
    backend: Backend = "emu",
    steps: int | None = None,
    batch: int | None = None,
    spikes: bool = False,
    residual: bool = False,
    graph: LavaGraph = "batched",
    progress: ReportSamples | None = None,
) -> Result:
    """Run a network on samples and return counts, potentials and logits.

    It runs on the requested backend or raises; there is no fallback. For data that does not fit into memory use
    `fsnn_lava.running.run.run_batches`; for a long run that can be interrupted and resumed use the command fsnn-run.

    Args:
        chip: the network, from `quantise` or `ChipNetwork.load`.
        values: raw uint8 inputs, [B, *shape], or [B, T, *shape] for a network of event sequences. The network normalises them itself.
        backend: "emu" is the emulator, the fastest and always available; "sim" runs Lava processes on the CPU; "loihi2" is the chip. All
            compute the same integers.
        steps: T, steps per sample; by default those the network was exported for.
        batch: samples to run together; by default as many as fit in a moderate amount of memory. The result does not depend on it.
        spikes: also keep every spike train, `Result.spikes`. Takes T bytes per neuron and sample.
        residual: also compute ||f(a) - a|| after every step, `Result.residual` (E11). Slower.
        graph: for "sim" only: "batched" runs our own processes, "stock" only those that Lava ships, one sample at a time.
        progress: called after every batch with the number of samples done and their total.

    Returns:
        The backend's results, for `compare` to judge.

    Raises:
        BadArgument: an option is out of range, or `values` does not have the dtype or shape that the network takes.
        BackendMissing: the backend cannot run here; the message says what is missing.
        BackendFailed: the backend died, hung or lost a process.

    Examples:
        >>> result = fl.run(chip, pixels, backend="emu", steps=20)
        >>> result.logits.shape
        (8, 3)
    """
    check_chip(chip)
    options = run_options(
        chip,
        samples=len(values) if isinstance(values, np.ndarray) and values.ndim else 1,
        backend=backend,
        steps=steps,
        batch=batch,
        spikes=spikes,
        residual=residual,
        graph=graph,
    )
    check_values_argument(chip, values, options.steps)
    results = []
    with open_backend(chip, options) as run_batch:
        for start in range(0, len(values), options.batch):
            part = values[start : start + options.batch]
            results.append(run_batch(part))
            if progress is not None:
                progress(start + len(part), len(values))
    return concatenate_results(results)


def run_batches(
    chip: ChipNetwork,
    batches: Iterable[Values],
    *,
    backend: Backend = "emu",
    steps: int | None = None,
    batch: int | None = None,
    spikes: bool = False,
    residual: bool = False,
    graph: LavaGraph = "batched",
) -> Generator[Result, None, None]:
    """Yield one Result per batch; only one batch is held in memory.

    Args:
        chip: the network, from `quantise` or `ChipNetwork.load`.
        batches: raw uint8 inputs, each as the `values` of `run`.
        backend: "emu", "sim" or "loihi2", as for `run`.
        steps: T; by default those the network was exported for.
        batch: the largest number of samples in one batch; by default as many as fit in a moderate amount of memory.
        spikes: also keep every spike train.
        residual: also compute ||f(a) - a|| after every step.
        graph: for "sim" only: "batched" or "stock".

    Raises:
        BadArgument: an option is out of range, or a batch is larger than `batch` or does not fit the network.
        BackendMissing: the backend cannot run here.
        BackendFailed: the backend died, hung or lost a process.
    """
    check_chip(chip)
    options = run_options(chip, backend=backend, steps=steps, batch=batch, spikes=spikes, residual=residual, graph=graph)
    with open_backend(chip, options) as run_batch:
        for values in batches:
            check_values_argument(chip, values, options.steps)
            if len(values) > options.batch:
                raise BadArgument(f"a batch has {len(values)} samples, more than batch={options.batch}")
            yield run_batch(values)


@contextmanager
def open_backend(chip: ChipNetwork, options: RunOptions) -> Iterator[RunBatch]:
    """Yield the backend's function that runs one batch of checked values, at most `options.batch` samples, with the residual if requested.

    Raises BackendMissing if the backend cannot run here.
    """
    require_encoding(chip, options)
    require_backend(options.backend)
    with _open_simulator(chip, options) as run_batch:
        if not options.residual:
            yield run_batch
            return
        from fsnn_lava.ir.residual_curve import ResidualCurve

        curve = ResidualCurve(executed_network(chip, options.executed_graph))
        yield lambda values: curve.added(run_batch(values), values, keep_spikes=options.spikes)


def require_encoding(chip: ChipNetwork, options: RunOptions) -> None:
    """BackendMissing unless the requested backend supports this network's encoding."""
    if chip.delta is not None and options.backend == "loihi2":
        raise BackendMissing("backend 'loihi2' does not support delta encoding; run it on 'emu' or 'sim', or export with encoding 'rate'")


@contextmanager
def _open_simulator(chip: ChipNetwork, options: RunOptions) -> Iterator[RunBatch]:
    """The backend itself; each is imported only when it is used."""
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
