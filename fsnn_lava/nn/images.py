"""What a network is called with: a batch of images, or of sequences of frames."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from fsnn_lava.errors import BadArgument


def is_image_sequence(values: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether `values` are [B, T, *shape] and not [B, *shape]."""
    return values.dim() == len(shape) + 2


def check_images(images: Tensor, shape: tuple[int, ...], steps: int) -> None:
    """BadArgument unless `images` are [B, *shape], or [B, T, *shape] with at least `steps` frames."""
    if steps < 1:
        raise BadArgument(f"steps must be at least 1, got {steps}")
    if not isinstance(images, Tensor):
        remedy = "torch.from_numpy(images)" if isinstance(images, np.ndarray) else "torch.as_tensor(images)"
        raise BadArgument(f"images must be a torch.Tensor, got {type(images).__name__}: pass {remedy}")
    sequence = is_image_sequence(images, shape)
    if tuple(images.shape[1:]) != shape and not (sequence and tuple(images.shape[2:]) == shape):
        raise BadArgument(f"images must be [B, {', '.join(map(str, shape))}], or [B, T, …] for a sequence; got {list(images.shape)}")
    if sequence and images.shape[1] < steps:
        raise BadArgument(f"a sequence of {images.shape[1]} frames is too short for {steps} steps")
