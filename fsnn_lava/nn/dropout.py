"""Variational dropout: masks that stay the same for a whole sequence. On a CPU, a seed gives the same masks on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fsnn_lava.compiled.compiler import compiler_accepts
from fsnn_lava.compiled.dropout import fill_mask
from fsnn_lava.compiled.threads import over_samples

WORTH_A_THREAD = 2**18  # numbers above which threads pay off


@dataclass(frozen=True)
class Masks:
    """The dropout masks of one batch, for the current of every stage and of every feedback; None drops nothing."""

    stages: tuple[Tensor | None, ...]
    feedbacks: tuple[Tensor | None, ...]

    @staticmethod
    def none(stages: int, feedbacks: int) -> Masks:
        """Return masks that drop nothing."""
        return Masks((None,) * stages, (None,) * feedbacks)


def masked(mask: Tensor | None, current: Tensor) -> Tensor:
    """Return mask * current; None means no dropout."""
    return current if mask is None else current * mask


def draw_masks(shapes: Sequence[tuple[int, ...]], samples: int, dropped: float, like: Tensor) -> list[Tensor]:
    """Draw dropout masks, [samples, *shape] for every shape: zero with probability `dropped`, else the value that makes the mean 1.

    The seed comes from torch's global generator. Masks [samples, C, H, W] are stored channels last.
    """
    sizes = [samples * math.prod(shape) for shape in shapes]
    drawn, kept = like.new_empty(sum(sizes)), 1.0 - dropped
    if compiler_accepts(drawn):
        out = drawn.numpy()
        seed = int(torch.empty((), dtype=torch.int64).random_(-(2**63), None).item()) % 2**64  # all 64 bits
        limit = np.uint32(min(round(kept * 2**32), 2**32 - 1))
        key = (np.uint32(seed >> 32), np.uint32(seed % 2**32), limit, out.dtype.type(1.0 / kept))
        number = torch.get_num_threads() if len(out) > WORTH_A_THREAD else 1
        over_samples(lambda first, end: fill_mask(first, end, out, *key), len(out), number=number, least=WORTH_A_THREAD)
    else:
        drawn.bernoulli_(kept).div_(kept)
    return [_shaped(part, samples, shape) for part, shape in zip(torch.split_with_sizes(drawn, sizes), shapes, strict=True)]


def _shaped(flat: Tensor, samples: int, shape: tuple[int, ...]) -> Tensor:
    if len(shape) != 3:
        return flat.view(samples, *shape)
    channels, height, width = shape
    return flat.view(samples, height, width, channels).permute(0, 3, 1, 2)
