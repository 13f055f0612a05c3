"""The images that a network takes: a batch of single images, or of sequences of frames."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from torch import Tensor

from fsnn_lava.errors import BadArgument


def is_image_sequence(values: Tensor, shape: tuple[int, ...]) -> bool:
    """Return whether `values` are a sequence, [B, T, *shape], and not single images, [B, *shape]."""
    return values.dim() == len(shape) + 2


def check_steps(steps: object) -> None:
    """Raise BadArgument unless `steps` is an integer of at least 1."""
    if not isinstance(steps, Integral) or isinstance(steps, bool) or int(steps) < 1:
        raise BadArgument(f"steps must be an integer of at least 1, got {steps!r}")


def check_images(images: Tensor, shape: tuple[int, ...], steps: int) -> None:
    """Raise BadArgument unless `images` are [B, *shape], or [B, T, *shape] with at least `steps` frames."""
    check_steps(steps)
    if not isinstance(images, Tensor):
        remedy = "torch.from_numpy(images)" if isinstance(images, np.ndarray) else "torch.as_tensor(images)"
        raise BadArgument(f"images must be a torch.Tensor, got {type(images).__name__}: pass {remedy}")
    if images.is_complex():
        raise BadArgument(f"images must be real numbers, got {images.dtype}")
    sequence = is_image_sequence(images, shape)
    if tuple(images.shape[1:]) != shape and not (sequence and tuple(images.shape[2:]) == shape):
        raise BadArgument(f"images must be [B, {', '.join(map(str, shape))}], or [B, T, …] for a sequence; got {list(images.shape)}")
    if sequence and images.shape[1] < steps:
        raise BadArgument(f"a sequence of {images.shape[1]} frames is too short for {steps} steps")
