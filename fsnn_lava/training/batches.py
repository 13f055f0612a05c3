"""The samples of every batch and their augmentation, determined by (seed, epoch, batch) alone, so that a resumed run repeats them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

SHUFFLE, AUGMENT, DROPOUT, DROP_EVENTS = 1, 2, 3, 5  # independent streams of random numbers; 4 draws the initial weights
MARGIN = 4  # pixels by which the crop of CIFAR may shift


def stream_seed(stream: int, *where: int) -> int:
    """A 63-bit seed for one stream at one place (seed, epoch, batch, …); different places give unrelated numbers."""
    return int(np.random.SeedSequence([stream, *where]).generate_state(1, np.uint64)[0]) >> 1


def generator(stream: int, *where: int) -> torch.Generator:
    """A random generator seeded for one stream at one place."""
    return torch.Generator().manual_seed(stream_seed(stream, *where))


def epoch_batches(samples: int, batch: int, *, seed: int, epoch: int) -> Iterator[Tensor]:
    """The indices of every batch of an epoch, each sample once; a last batch of a single sample is left out, since it has no variance."""
    order = torch.randperm(samples, generator=generator(SHUFFLE, seed, epoch))
    for chunk in order.split(batch):
        if len(chunk) > 1 or samples == 1:
            yield chunk


def batch_count(samples: int, batch: int) -> int:
    """The number of batches of `epoch_batches`."""
    return samples // batch + (samples % batch > 1)


def augmented(
    images: Tensor,
    random: torch.Generator,
    *,
    margin: int,
    flip: bool,
    cutout: int = 0,
    samples: int | None = None,
    mine: slice = slice(None),
) -> Tensor:
    """Shift every image [B, C, H, W] by up to `margin` pixels, padding with zeros; with `flip`, mirror half of them.

    The frames of a sequence [B, T, C, H, W] are all changed alike.

    `cutout` is the side of a square at a random place, partly outside of the image at its borders, that is set to zero.

    `images` may be the part `mine` of a joint batch of `samples`: each is then augmented as it would be in the joint batch.
    """
    if images.dim() == 5:
        changed = augmented(images.flatten(1, 2), random, margin=margin, flip=flip, cutout=cutout, samples=samples, mine=mine)
        return changed.view_as(images)
    count, _, height, width = images.shape
    drawn = count if samples is None else samples
    padded = torch.nn.functional.pad(images, (margin,) * 4)
    top = torch.randint(0, 2 * margin + 1, (drawn, 1), generator=random)[mine]
    left = torch.randint(0, 2 * margin + 1, (drawn, 1), generator=random)[mine]
    mirror = torch.rand((drawn, 1), generator=random)[mine] < (0.5 if flip else 0.0)
    rows = top + torch.arange(height)  # [B, H]
    columns = torch.where(mirror, left + torch.arange(width - 1, -1, -1), left + torch.arange(width))  # [B, W]
    sample = torch.arange(count).view(count, 1, 1)
    moved = padded.permute(0, 2, 3, 1)[sample, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2).contiguous()
    if not cutout:
        return moved
    inside = [_in_span(size, cutout, drawn, random)[mine] for size in (height, width)]  # [B, H] and [B, W]
    return moved.masked_fill_((inside[0][:, :, None] & inside[1][:, None, :])[:, None], 0)


def without_some_events(
    frames: Tensor, random: torch.Generator, *, share: float, samples: int | None = None, mine: slice = slice(None)
) -> Tensor:
    """Set every entry of the frames to zero with probability `share`: a pixel of a frame loses all its events.

    Every sample has a random generator of its own, so that a part of a joint batch loses what it would in the joint batch.
    """
    seeds = torch.randint(0, 2**62, (len(frames) if samples is None else samples,), generator=random)[mine]
    for sample, seed in zip(frames, seeds.tolist()):
        sample[torch.rand(sample.shape, generator=torch.Generator().manual_seed(seed)) < share] = 0
    return frames


def _in_span(size: int, length: int, samples: int, random: torch.Generator) -> Tensor:
    """[samples, size] whether a place lies in a span of `length` around a random one."""
    begin = torch.randint(0, size, (samples, 1), generator=random) - length // 2
    place = torch.arange(size)
    return (place >= begin) & (place < begin + length)
