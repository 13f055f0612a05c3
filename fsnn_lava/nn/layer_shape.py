"""The shape of a layer, or of the input, as a user writes it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from fsnn_lava.errors import BadArchitecture
from fsnn_lava.nn.operators import Shape

SIZE_MAX = 2**31 - 1  # neurons, channels and all other sizes of a graph


def layer_shape(shape: object, what: str) -> Shape:
    """Check and return the shape of a layer, (N,) or (C, H, W) of positive sizes; a number is short for (N,)."""
    sizes: Any = (shape,) if isinstance(shape, Integral) else shape
    whole = isinstance(sizes, Sequence) and not isinstance(sizes, str) and len(sizes) in (1, 3)
    if not whole or not all(isinstance(n, Integral) and not isinstance(n, bool) and 1 <= int(n) <= SIZE_MAX for n in sizes):
        hint = "; (1, H, W) is an image with one channel" if isinstance(sizes, Sequence) and len(sizes) == 2 else ""
        raise BadArchitecture(f"{what} must have the shape (N,) or (C, H, W) of positive sizes, got {str(shape)[:80]}{hint}")
    return tuple(int(n) for n in sizes)
