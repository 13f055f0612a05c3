"""The samples of every batch, determined only by (seed, epoch), so that a resumed run uses the same ones."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fsnn_lava.training.random_streams import SHUFFLE, generator


def epoch_batches(samples: int, batch: int, *, seed: int, epoch: int) -> Iterator[Tensor]:
    """Yield the sample indices of every batch of an epoch, each sample once; a final batch of one is skipped, since it has no variance."""
    order = torch.randperm(samples, generator=generator(SHUFFLE, seed, epoch))
    for chunk in order.split(batch):
        if len(chunk) > 1 or samples == 1:
            yield chunk


def batch_count(samples: int, batch: int) -> int:
    """Return the number of batches in an epoch, as `epoch_batches` yields them."""
    return samples // batch + (samples % batch > 1)
