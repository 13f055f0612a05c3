"""How good a network is on samples it was not trained on."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from fsnn_lava.network import FSNN

BATCH = 250  # samples at once


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Figures of a network on a set of samples."""

    accuracy: float  # share of samples whose largest logit is their label's
    firing_rates: list[float]  # spikes per step and neuron, one per layer
    equilibrium_residual: float  # mean over samples of ||f(a[T]) - a[T]|| of the last layer
