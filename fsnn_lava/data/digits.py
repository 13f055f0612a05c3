"""scikit-learn's digits: 1,797 real images of 8 x 8 pixels that come with the package, so no file is needed."""

from __future__ import annotations

import numpy as np

from fsnn_lava.data.dataset import ArraySplit, Dataset
from fsnn_lava.nn.normalisation import Normalisation

EVERY = 5  # the 1st, 6th, 11th, … image of every digit is a test sample
NORMALISATION = Normalisation(16.0, (0.3054,), (0.3763,))  # pixels are 0 … 16; over all training pixels


def load_digits() -> Dataset:
    """The digits, with a split that depends only on their order."""
    from sklearn import datasets

    bunch = datasets.load_digits()
    images = np.asarray(bunch.images).astype(np.uint8)[:, None]
    labels = np.asarray(bunch.target).astype(np.int64)
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
