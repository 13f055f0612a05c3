"""Detect float inputs that raw values cannot reproduce: a chip takes only raw values, whole numbers from 0 to 255."""

from __future__ import annotations

import torch
from torch import Tensor

from fsnn_lava.nn.normalisation import Normalisation


def range_unless_raw_values(values: Tensor) -> tuple[float, float] | None:
    """Return the smallest and largest of `values`, or None if all are raw values: whole numbers from 0 to 255."""
    if not values.numel():
        return None
    low, high = (float(bound) for bound in torch.aminmax(values.detach()))
    if low >= 0.0 and high <= 255.0 and bool((values == values.round()).all()):
        return None
    return low, high


def fault_of_floats(low: float, high: float, normalisation: Normalisation) -> str | None:
    """Return why floats from `low` to `high` cannot be a training set to which `normalisation` was applied; None if they can be."""
    if low >= 0.0 and max(normalisation.mean) > 0.0:
        return f"none of them is negative, although `normalisation` subtracts the mean {max(normalisation.mean):.3g}"
    widest = 255.0 / normalisation.divisor / min(normalisation.std)
    if high - low > 2.0 * widest:  # augmentation may go somewhat beyond what raw values can become
        return f"`normalisation` turns raw values 0 … 255 into a range of {widest:.3g} at most"
    return None
