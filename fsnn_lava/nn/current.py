"""The current that one layer's spikes cause in another."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from fsnn_lava.nn.operators import Operator


@dataclass(frozen=True, kw_only=True)
class Current:
    """A map from the spikes of one layer to the current of another: mask * (W s + bias)."""

    operator: Operator
    weight: Tensor
    bias: Tensor | None = None  # [channels], or [*out_shape]
    mask: Tensor | None = None  # [B, *out_shape], constant over the run

    def __call__(self, spikes: Tensor) -> Tensor:
        shared = self.bias if self.bias is None or self.bias.dim() == 1 else None  # one bias per channel
        current = self.operator.apply(self.weight, spikes, shared)
        if shared is None and self.bias is not None:
            current = current + self.bias
        return current if self.mask is None else current.mul_(self.mask)

    def part(self, rows: slice) -> Current:
        """Return the current for some samples of the batch."""
        return self if self.mask is None else replace(self, mask=self.mask[rows])
