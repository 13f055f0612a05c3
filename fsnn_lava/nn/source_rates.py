"""The rates where feedback starts, joined into one vector per sample (E13)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from fsnn_lava.nn.operators import Shape


class SourceRates:
    """The rates of the feedback's sources as one tensor: a single source unchanged, several side by side, [B, n]."""

    def __init__(self, positions: Sequence[int], shapes: Sequence[Shape]) -> None:
        """Take the positions of the sources, and the shapes of all layers."""
        self.positions = tuple(positions)
        self.shapes = [shapes[position] for position in self.positions]

    def join(self, rates: Sequence[Tensor]) -> Tensor:
        """Join the rates of the sources, given those of every layer."""
        if len(self.positions) == 1:
            return rates[self.positions[0]]
        return torch.cat([rates[position].flatten(1) for position in self.positions], 1)

    def split(self, joined: Tensor) -> list[Tensor]:
        """Split joined rates into those of each source."""
        if len(self.positions) == 1:
            return [joined]
        parts = joined.split([prod(shape) for shape in self.shapes], 1)
        return [part.unflatten(1, shape) if len(shape) > 1 else part for part, shape in zip(parts, self.shapes, strict=True)]

    def zeros(self, samples: int, like: Tensor) -> Tensor:
        """Return joined rates of the sources, all zero."""
        shape = self.shapes[0] if len(self.shapes) == 1 else (sum(prod(one) for one in self.shapes),)
        return like.new_zeros(samples, *shape)
