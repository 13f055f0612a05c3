"""The non-spiking readout."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as nnf
from torch import Tensor, nn


class Readout(nn.Linear):
    """A linear readout, from the last layer's rates to logits.

    `rounding`, if set, maps the stored weight to the one that is used; gradients pass through it to the stored weight.
    """

    def __init__(self, neurons: int, classes: int) -> None:
        super().__init__(neurons, classes)
        self.rounding: Callable[[Tensor], Tensor] | None = None

    def used_weight(self) -> Tensor:
        """Return the weight that is used, rounded if the network is fake-quantised."""
        return self.weight if self.rounding is None else self.rounding(self.weight)

    def forward(self, rates: Tensor) -> Tensor:
        """Return the logits of the last layer's rates."""
        return nnf.linear(rates, self.used_weight(), self.bias)
