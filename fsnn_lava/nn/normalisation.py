"""How raw values are converted to the input of the first layer: x = (p / divisor - mean) / std, per channel (E8)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

from fsnn_lava.errors import BadArgument

if TYPE_CHECKING:  # data sets and commands import this file, and must start without torch
    from torch import Tensor


@dataclass(frozen=True)
class Normalisation:
    """How raw uint8 values become inputs: x = (p / divisor - mean[c]) / std[c] for a value p of channel c.

    Pass it to `FSNN` instead of normalising images yourself: `quantise` folds it into the first layer, which then takes raw pixels (E8).

    Args:
        divisor: 255 scales uint8 pixels to [0, 1].
        mean: one per channel, or one number for all; after the division.
        std: one per channel, or one number for all; after the division.

    Raises:
        BadArgument: `divisor` or an entry of `std` is not positive, or an entry is not finite, or `mean` and `std` differ in length.

    Examples:
        >>> mnist = fl.Normalisation(mean=(0.1307,), std=(0.3081,))
    """

    divisor: float = 255.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "divisor", _number(self.divisor))
        object.__setattr__(self, "mean", _per_channel("mean", self.mean))
        object.__setattr__(self, "std", _per_channel("std", self.std))
        if not (math.isfinite(self.divisor) and self.divisor > 0):
            raise BadArgument(f"normalisation: divisor must be a positive number, got {self.divisor}")
        if not self.mean or len(self.mean) != len(self.std):
            raise BadArgument(f"normalisation: mean and std need one entry per channel each, got {len(self.mean)} and {len(self.std)}")
        if not all(math.isfinite(value) for value in self.mean):
            raise BadArgument(f"normalisation: every mean must be finite, got {self.mean}")
        if not all(math.isfinite(value) and value > 0 for value in self.std):
            raise BadArgument(f"normalisation: every std must be a positive number, got {self.std}")

    def apply(self, values: Tensor, *, channels_axis: int) -> Tensor:
        """Return the inputs for raw values, which are given as floats.

        Args:
            values: of any shape.
            channels_axis: the channel axis of `values`, counted from the end: -3 for [B, C, H, W], -1 for [B, N].
        """
        shape = (-1, *[1] * (-1 - channels_axis))
        mean, std = values.new_tensor(self.mean).view(shape), values.new_tensor(self.std).view(shape)
        return (values / self.divisor - mean) / std


def _number(value: object) -> float:
    """Return a number, or an array or tensor without axes, as a float."""
    if not isinstance(value, Real) and getattr(value, "ndim", None) != 0:
        raise BadArgument(f"normalisation: divisor must be a positive number, got {value!r}")
    return float(value)  # type: ignore[arg-type]


def _per_channel(name: str, values: object) -> tuple[float, ...]:
    """Return one number, or several in any sequence or array, as a tuple of floats."""
    try:
        if isinstance(values, Real) or getattr(values, "ndim", None) == 0:
            return (float(values),)  # type: ignore[arg-type]
        if isinstance(values, str):  # a sequence of its characters
            raise TypeError
        return tuple(float(value) for value in values)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise BadArgument(f"normalisation: {name} must be a number, or one number per channel, got {values!r}") from None
