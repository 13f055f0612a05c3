"""The task that a network is trained for: one class, several labels at once, or numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss

from fsnn_lava.data import Dataset, Split
from fsnn_lava.errors import BadData
from fsnn_lava.training.recipe import Recipe


class Task(ABC):
    """The loss of a batch, and the score that epochs are judged by: 1 is perfect, 0 is useless."""

    def targets(self, split: Split) -> Tensor:
        """Return the target of every sample: [N, outputs], or class numbers [N]."""
        if split.targets is None:
            raise BadData("the samples have only class numbers; this task needs an .npz file with target numbers as y")
        return torch.from_numpy(split.targets)

    @abstractmethod
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss, summed over the samples."""

    @abstractmethod
    def score(self, outputs: Tensor, targets: Tensor) -> float:
        """Return the score, summed over the samples."""


@dataclass(frozen=True)
class Classes(Task):
    """One class of several: cross-entropy; the score is the share of samples whose largest output is that of their class."""

    label_smoothing: float = 0.0

    def targets(self, split: Split) -> Tensor:
        """Return the class numbers, [N]."""
        return torch.from_numpy(split.labels)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy."""
        return cross_entropy(outputs, targets, reduction="sum", label_smoothing=self.label_smoothing)

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        """Return the number of correct answers."""
        return float((outputs.argmax(1) == targets).sum())


@dataclass(frozen=True)
class MultiLabel(Task):
    """Each output is a label of its own, present if above 0; the loss is binary cross-entropy, the score the share of correct labels."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the binary cross-entropy, the mean over the labels."""
        return binary_cross_entropy_with_logits(outputs, targets.to(outputs.dtype), reduction="sum") / outputs.shape[1]

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        """Return the share of correct labels, summed over the samples."""
        return float(((outputs > 0) == (targets > 0.5)).double().mean(1).sum())


@dataclass(frozen=True)
class Regression(Task):
    """Regression to numbers: mean squared error; the score is the share of the variance that is explained (R²; useless below 0)."""

    variance: float  # of the training targets, the mean over the outputs

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the squared error, the mean over the outputs."""
        return mse_loss(outputs, targets.to(outputs.dtype), reduction="sum") / outputs.shape[1]

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        """Return 1 - error / variance, summed over the samples."""
        return len(outputs) - float(self.loss(outputs, targets)) / self.variance


def make_task(recipe: Recipe, data: Dataset) -> Task:
    """Return the task of a recipe on its samples; BadData if their targets do not suit the task."""
    if recipe.task == "classes":
        return Classes(recipe.label_smoothing)
    parts = [part.targets for part in (data.train, data.test, data.validation) if part is not None]
    if any(part is None for part in parts) or data.train.targets is None:
        raise BadData(f"task {recipe.task!r} needs an .npz with target numbers as y, [N] or [N, outputs]; {data.name} has class numbers")
    known = np.concatenate([part for part in parts if part is not None])
    if recipe.task == "multi-label":
        if not bool(np.isin(known, (0.0, 1.0)).all()):
            raise BadData(f"task 'multi-label' needs y of 0 and 1, one column per label; {data.name} has {known.min():g} … {known.max():g}")
        return MultiLabel()
    variance = float(np.var(data.train.targets, axis=0, dtype=np.float64).mean())
    if variance == 0.0:
        raise BadData(f"task 'regression': the targets of {data.name} are all the same")
    return Regression(variance)
