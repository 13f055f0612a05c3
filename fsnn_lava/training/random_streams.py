"""Independent streams of random numbers, seeded only by (seed, epoch, batch), so that a resumed run draws the same ones."""

from __future__ import annotations

import numpy as np
import torch

SHUFFLE, AUGMENT, DROPOUT, DROP_EVENTS = 1, 2, 3, 5  # independent streams of random numbers; 4 draws the initial weights


def stream_seed(stream: int, *where: int) -> int:
    """Return a 63-bit seed for one stream at one point (seed, epoch, batch, …); different points give unrelated numbers."""
    return int(np.random.SeedSequence([stream, *where]).generate_state(1, np.uint64)[0]) >> 1


def generator(stream: int, *where: int) -> torch.Generator:
    """Return a random generator seeded for one stream at one point."""
    return torch.Generator().manual_seed(stream_seed(stream, *where))
