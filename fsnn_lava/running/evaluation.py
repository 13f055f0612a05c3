"""Evaluate a network over a data set, batch by batch."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.data import Split
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.run_arguments import check_values_argument
from fsnn_lava.running.backend import open_backend
from fsnn_lava.running.options import RunOptions


@dataclass(frozen=True, eq=False)
class SampleBatch:
    """Consecutive samples of a data set, starting at index `first`, in the shape of the network's input."""

    first: int
    values: NDArray[np.uint8]
    labels: NDArray[np.int64]


def sample_batches(chip: ChipNetwork, split: Split, first: int, end: int, *, size: int, steps: int) -> Iterator[SampleBatch]:
    """Yield the batches that `evaluate` runs for `steps` steps: samples first … end - 1, at most `size` at a time."""
    for start in range(first, end, size):
        rows = slice(start, min(start + size, end))
        yield SampleBatch(start, fit_evaluation_samples(chip, split.batch(rows), steps=steps), split.labels[rows])


def evaluate(
    chip: ChipNetwork, split: Split, spans: Sequence[tuple[int, int]], options: RunOptions
) -> Generator[tuple[SampleBatch, Result], None, None]:
    """Run the samples of every span (first, end), `end` excluded, and yield each batch with its result."""
    if not spans:
        return
    largest = min(options.batch, max(end - first for first, end in spans))
    with open_backend(chip, replace(options, batch=largest)) as run_batch:
        for first, end in spans:
            for batch in sample_batches(chip, split, first, end, size=largest, steps=options.steps):
                check_values_argument(chip, batch.values, options.steps)
                yield batch, run_batch(batch.values)


def fit_evaluation_samples(chip: ChipNetwork, values: NDArray[np.uint8], *, steps: int) -> NDArray[np.uint8]:
    """Reshape samples for evaluation to the network's input; for a flat input, (C, H, W) samples are flattened in that order.

    Of recordings that have more frames than the run has `steps`, the first ones are used, as in training.
    """
    events = chip.input.kind == "events"
    lead = 2 if events else 1
    if values.ndim < lead or int(np.prod(values.shape[lead:])) != int(np.prod(chip.input.shape)):
        wanted = f"[B, {'T, ' if events else ''}{', '.join(map(str, chip.input.shape))}]"
        raise BadArgument(
            f"the network takes {wanted} (input kind {chip.input.kind!r}), but the samples of the data set have shape {values.shape[1:]}"
        )
    used = values[:, :steps] if events else values
    return used.reshape(*used.shape[:lead], *chip.input.shape)
