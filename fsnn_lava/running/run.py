"""Run a ChipNetwork on the requested backend: `run` takes an array, `run_batches` a stream. There is no fallback."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

import numpy as np

from fsnn_lava.backends.availability import Backend
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result, concatenate_results
from fsnn_lava.ir.run_arguments import check_chip, check_values_argument
from fsnn_lava.running.backend import Values, open_backend
from fsnn_lava.running.options import LavaGraph, run_options

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

    It runs on the requested backend or raises; there is no fallback. For data that does not fit into memory, use
    `fsnn_lava.running.run.run_batches`; for a long run that can be interrupted and resumed, use the command fsnn-run.

    Args:
        chip: the network, from `quantise` or `ChipNetwork.load`.
        values: raw uint8 inputs, [B, *shape], or [B, T, *shape] for a network with event input. The network normalises them itself.
        backend: "emu" is the emulator, the fastest and always available; "sim" runs Lava processes on the CPU; "loihi2" is the chip. All
            compute the same integers.
        steps: T, steps per sample; by default the number that the network was exported for.
        batch: samples to run together; by default as many as fit in a moderate amount of memory. The result does not depend on it.
        spikes: also store every spike train in `Result.spikes`; takes T bytes per neuron and sample.
        residual: also compute ||f(a) - a|| after every step, `Result.residual` (E11). Slower.
        graph: for "sim" only: "batched" runs our own processes, "stock" only those that Lava ships, one sample at a time.
        progress: called after every batch with the number of samples done and the total.

    Returns:
        The backend's results, which `compare` can judge.

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
    """Run a stream of batches: yield one Result per batch and hold only one batch in memory.

    Args:
        chip: the network, from `quantise` or `ChipNetwork.load`.
        batches: raw uint8 inputs, each like the `values` of `run`.
        backend: "emu", "sim" or "loihi2", as for `run`.
        steps: T; by default the number that the network was exported for.
        batch: the largest number of samples in one batch; by default as many as fit in a moderate amount of memory.
        spikes: also store every spike train.
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
