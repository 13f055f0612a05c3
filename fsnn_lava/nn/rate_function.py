"""The rate function sigma: the rate of a neuron at a constant current (E4)."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import hardtanh


def rate_of(current: Tensor, vth: float, rate_max: float = 1.0) -> Tensor:
    """Return the rate sigma(current/vth): current/vth clipped to [0, rate_max]; without an upper clip, `rate_max` is infinite.

    Its gradient is the derivative that `compiled.slopes.rises` defines, 0 at both ends; that of `torch.clamp` would be 1 there.
    """
    return hardtanh(current / vth, 0.0, rate_max)
