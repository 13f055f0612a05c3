"""The samples of a recipe: a data set, or a fixed part of one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fsnn_lava.data import Dataset, Split, load
from fsnn_lava.data.dataset import Subscriptable
from fsnn_lava.errors import BadData
from fsnn_lava.training.recipe import Recipe


@dataclasses.dataclass(frozen=True, eq=False)
class SamplePart(Subscriptable):
    """Some samples of a split."""

    whole: Split
    chosen: np.ndarray  # [N] int64, positions in `whole`

    @property
    def labels(self) -> np.ndarray:  # type: ignore[override]
        """Class numbers of the chosen samples."""
        return self.whole.labels[self.chosen]

    @property
    def targets(self) -> np.ndarray | None:  # type: ignore[override]
        """The targets of the chosen samples."""
        return None if self.whole.targets is None else self.whole.targets[self.chosen]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return self.whole.shape

    def __len__(self) -> int:
        return len(self.chosen)

    def batch(self, indices: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        """Return the raw values of some of the chosen samples."""
        return self.whole.batch(self.chosen[indices if isinstance(indices, slice) else np.asarray(indices, np.int64)])


def sample_part(split: Split, count: int) -> Split:
    """Return `count` samples, the same for every seed of a recipe; all samples if `count` is 0 or larger than the split."""
    if count == 0 or count >= len(split):
        return split
    return SamplePart(split, np.sort(np.random.RandomState(0).permutation(len(split))[:count]))


def load_samples(recipe: Recipe, *, root: Path | None = None, download: bool = False) -> Dataset:
    """Load the data set of a recipe, reduced to `train_samples` and `test_samples`, with `validation` training samples held out."""
    data = load(recipe.data, root, download=download, targets=recipe.task != "classes")
    if not len(data.train):
        raise BadData(f"{recipe.data} has no training samples; add them as x_train and y_train (x and y are the test samples)")
    train, validation = _held_out(data.train, recipe)
    return dataclasses.replace(
        data, train=sample_part(train, recipe.train_samples), test=sample_part(data.test, recipe.test_samples), validation=validation
    )


def _held_out(split: Split, recipe: Recipe) -> tuple[Split, Split | None]:
    """Return the training samples without the `validation` ones, and those held out; the same for every seed of a recipe."""
    if not recipe.validation:
        return split, None
    if recipe.validation >= len(split):
        raise BadData(f"'validation' = {recipe.validation} would leave none of the {len(split)} training samples of {recipe.data}")
    order = np.random.RandomState(1).permutation(len(split))
    return SamplePart(split, np.sort(order[recipe.validation :])), SamplePart(split, np.sort(order[: recipe.validation]))
