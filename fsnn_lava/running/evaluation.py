"""Run a network over a data set, batch by batch: answers, spikes and operations are summed up, written and compared as they come."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.data import Split
from fsnn_lava.errors import BadArgument
from fsnn_lava.formats.results_layout import row_columns
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.running.run import run_batches


class Sink(Protocol):
    """Takes a run batch by batch: a results file, a comparator, a sum."""

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None: ...


@dataclass
class Totals:
    """What a run came to; numbers per sample are means."""

    chip: ChipNetwork
    steps: int
    samples: int = 0
    right: int = 0
    seconds: float = 0.0  # of the run itself, without reading, writing and comparing
    operations: int = 0
    updates: int = 0
    clips: int = 0
    spikes: list[int] = field(init=False)  # per layer
    residual: NDArray[np.float64] | None = None  # [T] summed over samples, if it was asked for

    def __post_init__(self) -> None:
        self.spikes = [0] * len(self.chip.layers)

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None:
        known = np.full(result.samples, -1) if labels is None else labels
        columns = row_columns(self.chip, residual_steps=0 if result.residual is None else result.steps)
        self.add_rows({column.name: column.of(result, values, known) for column in columns}, result.seconds)

    def add_rows(self, columns: Mapping[str, NDArray[Any]], seconds: float) -> None:
        """Some samples by what results.h5 keeps of all of them."""
        self.samples += len(columns["rows/labels"])
        self.right += int((columns["rows/predictions"] == columns["rows/labels"]).sum())
        self.seconds += seconds
        self.operations += int(columns["rows/operations"].sum())
        self.updates += int(columns["rows/updates"].sum())
        self.clips += int(columns["rows/clip_count"].sum())
        self.spikes = [old + int(new) for old, new in zip(self.spikes, columns["rows/layer_spikes"].sum(axis=0), strict=True)]
        if "rows/residual" in columns:
            summed = columns["rows/residual"].sum(axis=0)
            self.residual = summed if self.residual is None else self.residual + summed

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
            "rates": [number / steps / size for number, size in zip(self.spikes, (layer.size for layer in self.chip.layers))],
            "operations_per_sample": self.operations / self.samples,
            "updates_per_sample": self.updates / self.samples,
            "clips": self.clips,
            "residual": None if self.residual is None else (self.residual / self.samples).tolist(),
        }

    def to_text(self) -> str:
        """Three lines, and a fourth about the residual if it was asked for."""
        found = self.to_dict()
        rates = ", ".join(f"{rate:.2%}" for rate in found["rates"])
        spikes, operations, updates = (found[f"{name}_per_sample"] for name in ("spikes", "operations", "updates"))
        return (
            f"accuracy {self.accuracy:.2%} ({self.right} of {self.samples}), {self.steps} steps\n"
            f"per sample: {spikes:.0f} spikes (rate of each layer: {rates}), {operations:.0f} synaptic operations, "
            f"{updates:.0f} neuron updates; {self.clips} clips in all\n"
            f"{self.seconds:.2f} s, {1000 * self.seconds / self.samples:.3f} ms per sample{self._settling()}"
        )

    def _settling(self) -> str:
        if self.residual is None:
            return ""
        curve, steps = self.residual / self.samples, sorted({1, self.steps // 4, self.steps // 2, self.steps} - {0})
        return f"\nresidual ||f(a) - a||, mean: {', '.join(f'{curve[t - 1]:.4g} after {t} steps' for t in steps)}"


@dataclass(frozen=True, eq=False)
class Ran:
    """A batch that was run: samples `first` and following of the data set."""

    first: int
    result: Result
    values: NDArray[np.uint8]
    labels: NDArray[np.int64]


def evaluate(
    chip: ChipNetwork, split: Split, spans: Sequence[tuple[int, int]], *, batch: int, **options: Any
) -> Generator[Ran, None, None]:
    """Run the samples first … end - 1 of every span, batch by batch; `options` are those of run_batches."""
    places = [(start, min(start + batch, end)) for first, end in spans for start in range(first, end, batch)]
    held: list[tuple[int, NDArray[np.uint8], NDArray[np.int64]]] = []

    def batches() -> Iterator[NDArray[np.uint8]]:
        for start, end in places:
            rows = slice(start, end)
            held.append((start, fitted(chip, split.batch(rows)), split.labels[rows]))
            yield held[-1][1]

    if not places:
        return
    with closing(run_batches(chip, batches(), batch=max(end - start for start, end in places), **options)) as found:
        for result in found:
            first, values, labels = held.pop()
            yield Ran(first, result, values, labels)


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
