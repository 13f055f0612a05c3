"""Augmentation of training samples: shifts, flips, cutout and dropped events."""

from __future__ import annotations

import torch
from torch import Tensor

MARGIN = 4  # pixels by which the crop for CIFAR may shift


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

    All frames of a sequence [B, T, C, H, W] are changed in the same way.

    `cutout` is the side of a square at a random position that is set to zero; at the borders, part of it is outside the image.

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

    Every sample has its own random generator, so that a part of a joint batch loses what it would in the joint batch.
    """
    seeds = torch.randint(0, 2**62, (len(frames) if samples is None else samples,), generator=random)[mine]
    for sample, seed in zip(frames, seeds.tolist()):
        sample[torch.rand(sample.shape, generator=torch.Generator().manual_seed(seed)) < share] = 0
    return frames


def _in_span(size: int, length: int, samples: int, random: torch.Generator) -> Tensor:
    """Return whether each position is within a span of `length` around a random one, [samples, size]."""
    begin = torch.randint(0, size, (samples, 1), generator=random) - length // 2
    place = torch.arange(size)
    return (place >= begin) & (place < begin + length)
