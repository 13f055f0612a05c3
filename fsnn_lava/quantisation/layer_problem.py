"""The problem of rounding one layer: the layer in float, with calibration data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.quantisation.folded_network import FoldedConnection

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerProblem:
    """A layer of the folded network with calibration data: what enters it, and what its currents should be."""

    shape: tuple[int, ...]
    connections: tuple[FoldedConnection, ...]  # the first one gets an exponent near 0
    messages: tuple[Tensor, ...]  # [B, *in_shape] float64 per connection
    bias: FloatArray  # [*shape]
    host_current: FloatArray | None  # [B, *shape]: what the host adds, physical units
    vth: float
    potential_max: float  # largest |potential| of a calibration run, physical units
    message_max: tuple[float, ...]  # largest message of each connection
    rate_max: float = 1.0  # largest rate; infinite without an upper clip

    def current(self) -> FloatArray:
        """Return the current into the layer to be rounded, [B, *shape], physical units."""
        total = torch.zeros(())
        for connection, messages in zip(self.connections, self.messages, strict=True):
            total = total + connection.apply(messages)
        return total.numpy() + self.bias + (0.0 if self.host_current is None else self.host_current)

    def step_max(self) -> float:
        """Return the most that one step can add to or subtract from a neuron of the layer to be rounded, in physical units."""
        ends = []
        for sign in (1.0, -1.0):
            total = torch.from_numpy(sign * self.bias)
            for connection, largest in zip(self.connections, self.message_max, strict=True):
                everything = torch.full((1, *connection.in_shape), largest, dtype=torch.float64)
                total = total + connection.with_weight((sign * connection.weight).clamp(min=0)).apply(everything)[0]
            ends.append(float(total.max()))
        return max(ends)
