"""Values stored channels last, which is fastest for convolutions, and viewed as the rows of channels that compiled functions read."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Rows = NDArray[np.floating[Any]]  # [B, P, C]: samples, positions, channels


def stored_channels_last(values: Tensor) -> Tensor:
    """Return the same values; [B, C, H, W] is stored channels last."""
    return values.contiguous(memory_format=torch.channels_last) if values.dim() == 4 else values.contiguous()


def channel_rows(values: Tensor) -> Rows:
    """Return [B, C, H, W] or [B, N] as rows of channels, [B, positions, channels]: a view if the values are stored channels last."""
    ordered = values.permute(0, 2, 3, 1).contiguous().flatten(1, 2) if values.dim() == 4 else values.contiguous()[:, None]
    return ordered.numpy()


def from_channel_rows(rows: Rows, shape: torch.Size) -> Tensor:
    """Undo `channel_rows`, as a view."""
    flat = torch.from_numpy(rows)
    return flat.unflatten(1, tuple(shape[2:])).permute(0, 3, 1, 2) if len(shape) == 4 else flat[:, 0]
