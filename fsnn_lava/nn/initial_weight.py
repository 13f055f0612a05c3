"""How the initial weights are drawn before training."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as nnf
from torch import Tensor


def initial_weight(shape: Sequence[int]) -> Tensor:
    """Draw random initial weights: uniform in [-1, 1], with every output dimension scaled to length 1 (as in the paper)."""
    weight = torch.empty(*shape).uniform_(-1.0, 1.0)
    return nnf.normalize(weight.flatten(1), dim=1).view(*shape)
