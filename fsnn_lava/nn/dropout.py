"""Variational dropout: masks that hold for a whole sequence. On a CPU a seed gives the same ones on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsnn_lava.compiled.compiler import compilable, compiled
from fsnn_lava.compiled.threads import over_samples

WORTH_A_THREAD = 2**18  # numbers
STEP, FIRST, SECOND = np.uint32(0x9E3779B9), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)  # the golden ratio, and MurmurHash3's
FIRST_SHIFT, SECOND_SHIFT = np.uint32(16), np.uint32(13)


@dataclass(frozen=True)
class Masks:
    """One mask per current and sequence, on every stage's current and on the feedback's."""

    stages: tuple[Tensor | None, ...]
    feedback: Tensor | None


def draw(shapes: Sequence[tuple[int, ...]], batch: int, dropped: float, like: Tensor) -> list[Tensor]:
    """[batch, *shape] for every shape: zeros with probability `dropped`, else what makes their mean 1. Torch's generator moves on."""
    sizes = [batch * math.prod(shape) for shape in shapes]
    drawn, kept = like.new_empty(sum(sizes)), 1.0 - dropped
    if compilable(drawn):
        out = drawn.numpy()
        seed = int(torch.empty((), dtype=torch.int64).random_(-(2**63), None).item()) % 2**64  # all 64 bits
        limit = np.uint32(min(round(kept * 2**32), 2**32 - 1))
        key = (np.uint32(seed >> 32), np.uint32(seed % 2**32), limit, out.dtype.type(1.0 / kept))
        number = torch.get_num_threads() if len(out) > WORTH_A_THREAD else 1
        over_samples(lambda first, end: fill(first, end, out, *key), len(out), number=number, least=WORTH_A_THREAD)
    else:
        drawn.bernoulli_(kept).div_(kept)
    return [part.view(batch, *shape) for part, shape in zip(torch.split_with_sizes(drawn, sizes), shapes, strict=True)]


@compiled
def fill(first: int, end: int, out: Any, seed: Any, other: Any, limit: Any, value: Any) -> None:
    """out[i] <- value where a number mixed of i and the seeds, each of 32 bits, is below the limit, else 0."""
    nothing, part, begin = value - value, out[first:end], np.uint32(first)
    for i in range(len(part)):
        number = mixed(np.uint32((np.uint32(i) + begin) * STEP + seed))
        number = mixed(np.uint32(number + other))
        part[i] = value if number < limit else nothing


@compiled
def mixed(number: Any) -> Any:
    """Every bit of the 32 depends on every other: the end of MurmurHash3."""
    number = np.uint32((number ^ (number >> FIRST_SHIFT)) * FIRST)
    number = np.uint32((number ^ (number >> SECOND_SHIFT)) * SECOND)
    return np.uint32(number ^ (number >> FIRST_SHIFT))
