"""Run a network over a data set, batch by batch: answers, spikes and operations are summed up, written and compared as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.chip.network import ChipNetwork
from fsnn_lava.data import Split
from fsnn_lava.errors import BadArgument
from fsnn_lava.formats.results_layout import layer_spikes
from fsnn_lava.result import Result
from fsnn_lava.run import run_batches


class Sink(Protocol):
    """Takes a run batch by batch: a results file, a comparator, a sum."""

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None: ...


@dataclass
class Totals:
    """What a run came to; numbers per sample are means."""

    samples: int = 0
    right: int = 0
    seconds: float = 0.0  # of the run itself, without reading, writing and comparing
    operations: int = 0
    updates: int = 0
    clips: int = 0
    spikes: list[int] = field(default_factory=list)  # per layer
    steps: int = 0
    neurons: list[int] = field(default_factory=list)  # per layer

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None:
        self.samples += result.samples
        self.right += int((result.predictions == labels).sum()) if labels is not None else 0
        self.seconds += result.seconds
        self.operations += int(result.operations.sum())
        self.updates += int(result.updates.sum())
        self.clips += int(result.clip_count.sum())
        self.steps = result.steps
        self.neurons = [int(np.prod(counts.shape[1:])) for counts in result.counts]
        new = layer_spikes(result).sum(axis=0)
        self.spikes = [int(n) for n in new] if not self.spikes else [old + int(n) for old, n in zip(self.spikes, new)]

    def merge(self, other: Totals) -> Totals:
        """The totals of both."""
        sums = {
            name: getattr(self, name) + getattr(other, name) for name in ("samples", "right", "seconds", "operations", "updates", "clips")
        }
        return Totals(**sums, spikes=[a + b for a, b in zip(self.spikes, other.spikes)], steps=self.steps, neurons=self.neurons)

    @property
    def accuracy(self) -> float:
        return self.right / self.samples

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for --json."""
        steps = self.samples * self.steps
        return {
            "samples": self.samples,
            "steps": self.steps,
            "accuracy": self.accuracy,
            "seconds": self.seconds,
            "samples_per_second": self.samples / self.seconds if self.seconds > 0 else None,
            "spikes_per_sample": sum(self.spikes) / self.samples,
            "rates": [number / steps / size for number, size in zip(self.spikes, self.neurons)],
            "operations_per_sample": self.operations / self.samples,
            "updates_per_sample": self.updates / self.samples,
            "clips": self.clips,
        }

    def to_text(self) -> str:
        """Three lines."""
        found = self.to_dict()
        rates = ", ".join(f"{rate:.2%}" for rate in found["rates"])
        spikes, operations, updates = (found[f"{name}_per_sample"] for name in ("spikes", "operations", "updates"))
        return (
            f"accuracy {self.accuracy:.2%} ({self.right} of {self.samples}), {self.steps} steps\n"
            f"per sample: {spikes:.0f} spikes (rate of each layer: {rates}), {operations:.0f} synaptic operations, "
            f"{updates:.0f} neuron updates; {self.clips} clips in all\n"
            f"{self.seconds:.2f} s, {1000 * self.seconds / self.samples:.3f} ms per sample"
        )


def evaluate(
    chip: ChipNetwork,
    split: Split,
    *,
    first: int,
    end: int,
    batch: int,
    sinks: list[Sink],
    progress: Callable[[int], None],
    **options: Any,
) -> Totals:
    """Run samples first … end - 1 and hand every batch to every sink and its size to `progress`; `options` are those of run_batches."""
    totals = Totals()
    held: list[tuple[NDArray[np.uint8], NDArray[np.int64]]] = []

    def batches() -> Iterator[NDArray[np.uint8]]:
        for start in range(first, end, batch):
            rows = slice(start, min(start + batch, end))
            held.append((fitted(chip, split.batch(rows)), split.labels[rows]))
            yield held[-1][0]

    for result in run_batches(chip, batches(), batch=batch, **options):
        values, labels = held.pop()
        for sink in (totals, *sinks):
            sink.add(result, values, labels)
        progress(result.samples)
    return totals


def fitted(chip: ChipNetwork, values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Samples in the form of the network's input; a flat input takes (C, H, W) samples in that order."""
    events = chip.input.kind == "events"
    lead = 2 if events else 1
    if values.ndim < lead or int(np.prod(values.shape[lead:])) != int(np.prod(chip.input.shape)):
        wanted = f"[B, {'T, ' if events else ''}{', '.join(map(str, chip.input.shape))}]"
        raise BadArgument(
            f"the network takes {wanted} (input kind {chip.input.kind!r}), the data set has samples of shape {values.shape[1:]}"
        )
    return values.reshape(*values.shape[:lead], *chip.input.shape)
