"""Totals of a run over a data set: accuracy, spikes, operations, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.formats.results_columns import row_columns
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.running.task_score import TaskScore, make_task_score

STEPS_SHOWN = 8  # number of steps whose messages the text lists


@dataclass
class Totals:
    """Totals over all samples added so far."""

    chip: ChipNetwork
    steps: int
    targets: NDArray[np.float32] | None = None  # [N, outputs], in the order of the samples; None: classes
    samples: int = 0
    correct: int = 0
    seconds: float = 0.0  # time of the run itself, without reading, writing and comparing
    operations: int = 0
    updates: int = 0
    clips: int = 0
    spikes: list[int] = field(init=False)  # per layer
    task_score: TaskScore | None = field(init=False)  # for answers that are not classes
    residual: NDArray[np.float64] | None = None  # [T] summed over samples, if it was computed
    messages: NDArray[np.int64] | None = None  # [T] summed over samples and layers; None with rate coding
    cycling: int = 0  # samples that ended in a limit cycle

    def __post_init__(self) -> None:
        self.spikes = [0] * len(self.chip.layers)
        self.task_score = None if self.targets is None else make_task_score(self.chip.notes.get("task", ""))

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None:
        """Add a batch to the totals; answers without labels count as wrong."""
        known = np.full(result.samples, -1) if labels is None else labels
        columns = row_columns(self.chip, steps=self.steps, residual_steps=0 if result.residual is None else result.steps)
        self.add_rows({column.name: column.of(result, values, known) for column in columns}, result.seconds)

    def add_rows(self, columns: Mapping[str, NDArray[Any]], seconds: float) -> None:
        """Add samples to the totals from the columns that results.h5 stores for every sample."""
        if self.targets is not None and self.task_score is not None:
            self.task_score.add(columns["rows/logits"], self.targets[self.samples : self.samples + len(columns["rows/logits"])])
        self.samples += len(columns["rows/labels"])
        self.correct += int((columns["rows/predictions"] == columns["rows/labels"]).sum())
        self.seconds += seconds
        self.operations += int(columns["rows/operations"].sum())
        self.updates += int(columns["rows/updates"].sum())
        self.clips += int(columns["rows/clip_count"].sum())
        self.spikes = [old + int(new) for old, new in zip(self.spikes, columns["rows/layer_spikes"].sum(axis=0), strict=True)]
        if "rows/messages" in columns:
            self.messages = columns["rows/messages"].sum(axis=0, dtype=np.int64) + (0 if self.messages is None else self.messages)
            self.cycling += int(np.count_nonzero(columns["rows/cycles"]))
        if "rows/residual" in columns:
            summed = columns["rows/residual"].sum(axis=0)
            self.residual = summed if self.residual is None else self.residual + summed

    @property
    def accuracy(self) -> float:
        """Fraction of correct answers."""
        return self.correct / self.samples

    def to_dict(self) -> dict[str, Any]:
        """Return the totals as plain numbers for --json."""
        steps = self.samples * self.steps
        return {
            "samples": self.samples,
            "steps": self.steps,
            "accuracy": self.accuracy if self.task_score is None else None,
            "score": None if self.task_score is None else self.task_score.value,
            "seconds": self.seconds,
            "samples_per_second": self.samples / self.seconds if self.seconds > 0 else None,
            "spikes_per_sample": sum(self.spikes) / self.samples,
            "rates": [number / steps / size for number, size in zip(self.spikes, (layer.size for layer in self.chip.layers))],
            "operations_per_sample": self.operations / self.samples,
            "updates_per_sample": self.updates / self.samples,
            "clips": self.clips,
            "residual": None if self.residual is None else (self.residual / self.samples).tolist(),
            "encoding": self.chip.encoding,
            "messages_per_step": None if self.messages is None else (self.messages / self.samples).tolist(),
            "limit_cycles": None if self.messages is None else self.cycling,
        }

    def to_text(self) -> str:
        """Return the totals as three lines, plus a fourth with the residual if it was computed."""
        numbers = self.to_dict()
        answers = f"accuracy {self.accuracy:.2%} ({self.correct} of {self.samples})"
        if self.task_score is not None:
            answers = self.task_score.to_text(self.samples)
        rates = ", ".join(f"{rate:.2%}" for rate in numbers["rates"])
        spikes, operations, updates = (numbers[f"{name}_per_sample"] for name in ("spikes", "operations", "updates"))
        sent = f"{spikes:.0f} spikes (rate of each layer: {rates})"
        if self.messages is not None:
            curve = ", ".join(f"{number / self.samples:.3g}" for number in self.messages[:STEPS_SHOWN])
            more = ", …" if len(self.messages) > STEPS_SHOWN else ""
            cycles = f"; {self.cycling} samples in a limit cycle" if self.cycling else ""
            sent = f"{spikes:.0f} messages ({curve}{more} per step{cycles})"
        return (
            f"{answers}, {self.steps} steps\n"
            f"per sample: {sent}, {operations:.0f} synaptic operations, "
            f"{updates:.0f} neuron updates; {self.clips} clips in total\n"
            f"{self.seconds:.2f} s, {1000 * self.seconds / self.samples:.3f} ms per sample{self._residual_text()}"
        )

    def _residual_text(self) -> str:
        if self.residual is None:
            return ""
        curve, steps = self.residual / self.samples, sorted({1, self.steps // 4, self.steps // 2, self.steps} - {0})
        return f"\nresidual ||f(a) - a||, mean: {', '.join(f'{curve[t - 1]:.4g} after {t} steps' for t in steps)}"
