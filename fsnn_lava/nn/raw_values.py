"""Detect float inputs that are not raw values; a chip takes only raw values, whole numbers from 0 to 255."""

from __future__ import annotations

import torch
from torch import Tensor


def range_unless_raw_values(values: Tensor) -> tuple[float, float] | None:
    """Return the smallest and largest of `values`, or None if all are raw values: whole numbers from 0 to 255."""
    if not values.numel():
        return None
    low, high = (float(bound) for bound in torch.aminmax(values.detach()))
    if low >= 0.0 and high <= 255.0 and bool((values == values.round()).all()):
        return None
    return low, high
