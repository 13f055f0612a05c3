"""A loaded data set: raw uint8 values and class numbers, in a training and a test split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from fsnn_lava.errors import BadData
from fsnn_lava.nn.normalisation import Normalisation


class Split(Protocol):
    """Labelled samples that are read a batch at a time."""

    @property
    def labels(self) -> np.ndarray:
        """Class numbers, [N] int64."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample: [C, H, W], or [T, C, H, W] for events."""

    def __len__(self) -> int: ...

    def batch(self, indices: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        """The raw values of these samples, [B, *shape] uint8, as a copy."""


@dataclass(frozen=True, eq=False)
class ArraySplit:
    """Samples held in memory."""

    values: np.ndarray  # [N, ...] uint8
    labels: np.ndarray  # [N] int64

    def __post_init__(self) -> None:
        if self.values.dtype != np.uint8:
            raise BadData(f"values must be raw uint8 numbers, got {self.values.dtype}")
        if self.labels.shape != (len(self.values),):
            raise BadData(f"{len(self.values)} samples need a vector of as many labels, got labels of shape {self.labels.shape}")
        object.__setattr__(self, "labels", np.ascontiguousarray(self.labels, np.int64))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape[1:])

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, indices: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        return self.values[indices].copy() if isinstance(indices, slice) else self.values[np.asarray(indices, np.int64)]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A raw data set; `normalisation` is what a network applies to it, `augment` what training applies."""

    name: str
    train: Split
    test: Split
    normalisation: Normalisation
    validation: Split | None = None  # training samples held out to choose an epoch; `train` is then without them
    class_names: tuple[str, ...] = ()
    kind: Literal["static", "events"] = "static"
    augment: Literal["none", "crop-flip"] = "none"
    source: Path | None = None  # where it was read from; None for one that comes with a package

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample as a network's input: [C, H, W]; the time axis of events is left out."""
        return self.test.shape[1:] if self.kind == "events" else self.test.shape

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names) or 1 + max(int(part.labels.max(initial=-1)) for part in (self.train, self.test))
