"""The digits data set of scikit-learn: 1,797 real images of 8 x 8 pixels that come with that package, so no file is needed."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.data.dataset import ArraySplit, Dataset
from fsnn_lava.nn.normalisation import Normalisation

EVERY = 5  # the 1st, 6th, 11th, … image of every digit is a test sample
NORMALISATION = Normalisation(16.0, (0.3054,), (0.3763,))  # pixels are 0 … 16; mean and standard deviation over all training pixels


def load_digits() -> Dataset:
    """Load the digits, with a split that depends only on their order."""
    values = _values()
    images, labels = values[:, :-1].reshape(-1, 1, 8, 8), values[:, -1].astype(np.int64)
    for_test = np.zeros(len(images), bool)
    for digit in range(10):
        for_test[np.flatnonzero(labels == digit)[::EVERY]] = True
    return Dataset(
        name="digits",
        train=ArraySplit(images[~for_test], labels[~for_test]),
        test=ArraySplit(images[for_test], labels[for_test]),
        normalisation=NORMALISATION,
        class_names=tuple("0123456789"),
    )


def _values() -> NDArray[np.uint8]:
    """Return 64 pixels and the digit, [1797, 65], from scikit-learn's data file if possible, since importing scikit-learn takes seconds."""
    spec = find_spec("sklearn")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder) / "datasets" / "data" / "digits.csv.gz"
        if file.is_file():
            with gzip.open(file, "rt", encoding="ascii") as lines:
                return np.loadtxt(lines, delimiter=",").astype(np.uint8)
    from sklearn import datasets

    bunch = datasets.load_digits()
    return np.column_stack([bunch.data, bunch.target]).astype(np.uint8)
