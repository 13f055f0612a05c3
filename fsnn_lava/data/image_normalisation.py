"""The normalisation of your own images: mean and standard deviation of the training samples."""

from __future__ import annotations

import numpy as np

from fsnn_lava.nn.normalisation import Normalisation

LEAST_STD = 1 / 255  # used for a constant channel


def image_normalisation(train: np.ndarray) -> Normalisation:
    """Return the normalisation by the training images' mean and standard deviation, per channel; for flat samples, over all values."""
    if not train.size:
        return Normalisation()
    axes = (0, 2, 3) if train.ndim == 4 else (0, 1)
    mean, std = (np.atleast_1d(found) / 255 for found in (train.mean(axis=axes), train.std(axis=axes)))
    return Normalisation(255.0, tuple(mean), tuple(np.maximum(std, LEAST_STD)))
