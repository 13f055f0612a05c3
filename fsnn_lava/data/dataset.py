"""A loaded data set: raw uint8 values and class numbers, in a training and a test split."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from fsnn_lava.errors import BadData
from fsnn_lava.nn.normalisation import Normalisation


class Split(Protocol):
    """Labelled samples, read one batch at a time."""

    @property
    def labels(self) -> np.ndarray:
        """Class numbers, [N] int64; all -1 if there are `targets` instead."""

    @property
    def targets(self) -> np.ndarray | None:
        """Numeric targets instead of classes, [N, outputs] float32; None for classes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample: [C, H, W], or [T, C, H, W] for events."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        """Return the raw values and the class number of one sample."""

    def batch(self, indices: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        """Return the raw values of these samples, [B, *shape] uint8, as a copy."""


class Subscriptable(ABC):
    """Makes a split a map-style data set for torch.utils.data.DataLoader."""

    labels: np.ndarray
    targets: np.ndarray | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    @abstractmethod
    def batch(self, indices: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        """Return the raw values of these samples."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} samples of shape {self.shape})"

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        """Return the raw values [*shape] uint8 and the class number of one sample; negative indices count from the end."""
        try:
            position = operator.index(index)
        except TypeError:
            raise TypeError(f"index must be an integer, got {type(index).__name__}: batch(...) and labels[...] take several") from None
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range: there are {len(self)} samples")
        return self.batch([position % len(self)])[0], int(self.labels[position])

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[np.ndarray, int]]:
        """Return several samples at once; a DataLoader calls this for a batch."""
        chosen = np.asarray(indices, np.int64)
        return list(zip(self.batch(chosen), self.labels[chosen].tolist()))


@dataclass(frozen=True, eq=False, repr=False)
class ArraySplit(Subscriptable):
    """Samples in memory."""

    values: np.ndarray  # [N, ...] uint8
    labels: np.ndarray  # [N] int64
    targets: np.ndarray | None = None  # [N, outputs] float32

    def __post_init__(self) -> None:
        if self.values.dtype != np.uint8:
            raise BadData(f"values must be raw uint8 numbers, got {self.values.dtype}")
        if self.labels.shape != (len(self.values),):
            raise BadData(f"{len(self.values)} samples need one label each, got labels of shape {self.labels.shape}")
        if self.targets is not None and (self.targets.ndim != 2 or len(self.targets) != len(self.values)):
            raise BadData(f"{len(self.values)} samples need targets [N, outputs], got shape {self.targets.shape}")
        object.__setattr__(self, "labels", np.ascontiguousarray(self.labels, np.int64))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return tuple(self.values.shape[1:])

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, indices: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        """Copy these samples out of the array."""
        return self.values[indices].copy() if isinstance(indices, slice) else self.values[np.asarray(indices, np.int64)]


@dataclass(frozen=True, kw_only=True, repr=False)
class Dataset:
    """A raw data set, as `load_data` returns it: uint8 values and class numbers.

    Its splits can be subscripted (`data.train[0]` is a sample and its class), so torch.utils.data.DataLoader accepts them, and
    `data.test.batch(range(32))` returns several samples as one array.

    Attributes:
        name: the name of the data set, or of the file without its ending.
        train: training samples; may be empty.
        test: test samples.
        normalisation: what a network applies to the values; pass it to `FSNN`.
        validation: training samples held out to choose the best epoch, or None; `train` does not contain them.
        class_names: one name per class, or empty.
        kind: "static" images, or "events": sequences of frames.
        augment: what training applies by default: "none" or "crop-flip".
        source: where it was read from; None for a data set that comes with a package.
        remarks: what was inferred about your own file, for example that its channels come last.

    Examples:
        >>> data = fl.load_data("digits")
        >>> pixels, label = data.train[0]
        >>> pixels.shape, data.classes
        ((1, 8, 8), 10)
    """

    name: str
    train: Split
    test: Split
    normalisation: Normalisation
    validation: Split | None = None  # training samples held out to choose the best epoch; not part of `train`
    class_names: tuple[str, ...] = ()
    kind: Literal["static", "events"] = "static"
    augment: Literal["none", "crop-flip"] = "none"
    source: Path | None = None  # where it was read from; None for one that comes with a package
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        held_out = "" if self.validation is None else f", {len(self.validation)} validation"
        samples = f"{len(self.train)} training{held_out} and {len(self.test)} test samples of shape {self.test.shape}"
        return f"Dataset({self.name!r}, {samples}, {self.classes} {'classes' if self.test.targets is None else 'outputs'})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample as a network's input: [C, H, W]; the time axis of events is left out."""
        return self.test.shape[1:] if self.kind == "events" else self.test.shape

    @property
    def classes(self) -> int:
        """Number of classes, or of numeric targets per sample."""
        if self.test.targets is not None:
            return int(self.test.targets.shape[1])
        return len(self.class_names) or 1 + max(int(part.labels.max(initial=-1)) for part in (self.train, self.test))
