"""The trace that a simulation returns: rates, counts and potentials of every layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True, repr=False)
class Trace:
    """The result of simulating T steps, as `FSNN.simulate` returns it. Each layer is counted in its own time.

    Attributes:
        rates: [B, *shape] per layer: spikes per step, weighted by the leak (E3); with `SigmaDelta` neurons, the rates last sent (E14).
        counts: [B, *shape] per layer: number of spikes, or of messages.
        potentials: [B, *shape] per layer: u[T], on the scale of vth; with `SigmaDelta` neurons, vth times the rate reached.
        residuals: [B] per step: the largest |f(a) - a| of the last layer; empty unless requested.
        returned: masked W times the rates of a single layer, if the simulation knows it; only used in training.
    """

    rates: tuple[Tensor, ...]
    counts: tuple[Tensor, ...]
    potentials: tuple[Tensor, ...]
    residuals: list[Tensor] = field(default_factory=list)
    returned: Tensor | None = None

    def __repr__(self) -> str:
        layers = ", ".join(f"{list(rates.shape)} mean {float(rates.mean()):.4f}" for rates in self.rates)
        return f"Trace(rates {layers})"

    @staticmethod
    def joined(parts: Sequence[Trace]) -> Trace:
        """Join the traces of the parts of a batch.

        Args:
            parts: at least one, with the same layers; `residuals` and `returned` are dropped if there are several.
        """
        if len(parts) == 1:
            return parts[0]
        rates, counts, potentials = (
            tuple(torch.cat(layer) for layer in zip(*(getattr(part, name) for part in parts), strict=True))
            for name in ("rates", "counts", "potentials")
        )
        return Trace(rates, counts, potentials)
