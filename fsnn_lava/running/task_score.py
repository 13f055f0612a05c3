"""Score answers that are not classes: several labels at once, or numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadNetwork


class TaskScore(ABC):
    """A score over all samples added so far."""

    @abstractmethod
    def add(self, outputs: NDArray[np.float64], targets: NDArray[np.float32]) -> None:
        """Add the outputs of a batch and their targets, both [B, outputs]."""

    @property
    @abstractmethod
    def value(self) -> float | None:
        """The score, 1 if every answer is correct; None if it is undefined for these samples."""

    @abstractmethod
    def to_text(self, samples: int) -> str:
        """Return the score as the first words of a run's summary."""


class LabelScore(TaskScore):
    """The fraction of labels that are correct: an output above 0 means that its label is present."""

    def __init__(self) -> None:
        self.right = self.labels = 0

    def add(self, outputs: NDArray[np.float64], targets: NDArray[np.float32]) -> None:
        self.right += int(np.count_nonzero((outputs > 0) == (targets > 0.5)))
        self.labels += targets.size

    @property
    def value(self) -> float | None:
        return self.right / self.labels if self.labels else None

    def to_text(self, samples: int) -> str:
        return f"{self.right / max(1, self.labels):.2%} of the labels are right ({self.right} of {self.labels}, {samples} samples)"


class VarianceScore(TaskScore):
    """The fraction of the targets' variance that the outputs explain: 1 - squared error / variance; negative if the mean does better."""

    def __init__(self) -> None:
        self.samples = 0
        self.error: float = 0.0  # squared, summed
        self.sums: NDArray[np.float64] | float = 0.0  # of the targets, per output
        self.squares: NDArray[np.float64] | float = 0.0

    def add(self, outputs: NDArray[np.float64], targets: NDArray[np.float32]) -> None:
        wanted = targets.astype(np.float64)
        self.samples += len(wanted)
        self.error += float(((outputs - wanted) ** 2).sum())
        self.sums = self.sums + wanted.sum(axis=0)
        self.squares = self.squares + (wanted**2).sum(axis=0)

    @property
    def value(self) -> float | None:
        variance = float(np.sum(self.squares - np.square(self.sums) / max(1, self.samples)))
        return 1.0 - self.error / variance if variance > 0.0 else None

    def to_text(self, samples: int) -> str:
        share = "not defined, because all targets are equal" if self.value is None else f"{self.value:.4f}"
        return f"explained variance {share} ({samples} samples)"


def make_task_score(task: str) -> TaskScore:
    """Return the score of a task that is not classification, by its name in a recipe."""
    if task == "multi-label":
        return LabelScore()
    if task == "regression":
        return VarianceScore()
    raise BadNetwork(f"the network's task is {task!r}, which is unknown: it must be 'multi-label' or 'regression'")
