"""The map of the last layer's rates once around the loop (E4), and its fixed point."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.dropout import Masks, masked
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.layer import Stages


@dataclass(frozen=True)
class Equilibrium:
    """Rates with a = f(a), one tensor per layer."""

    rates: tuple[Tensor, ...]  # [B, *shape], spikes per step
    residual: Tensor  # [B] max over neurons of |f(a) - a| of the last layer
    steps: int  # evaluations of f
    converged: bool  # residual <= tol for every sample


@dataclass(frozen=True, kw_only=True)
class LoopMap:
    """f of E4 for one batch: the last layer's rates -> the rates of every layer, the last one mapped once around.

    `weight` is the feedback's for this pass. `running`: batch norm uses its running statistics, otherwise those of the mini-batch, which
    update the running ones with every call.
    """

    stages: Stages
    feedback: RestrictedFeedback | None
    vth: float
    first: Tensor  # F¹x* without batch norm, [B, *shape]
    weight: Tensor | None
    masks: Masks
    running: bool
    coupling: SampleCoupling = WHOLE_BATCH

    def __call__(self, rates: Tensor) -> tuple[Tensor, ...]:
        out: list[Tensor] = []
        for position, stage in enumerate(self.stages):
            current = self.own_current() if position == 0 else self._current(position, stage.current(out[-1]))
            if position == 0 and self.feedback is not None and self.weight is not None:
                current = current + masked(self.masks.feedback, self.feedback.operator.apply(self.weight, rates))
            out.append(torch.clamp(current / self.vth, 0.0, 1.0))
        return tuple(out)

    def own_current(self) -> Tensor:
        """The first layer's current without the feedback's."""
        return self._current(0, self.first)

    def _current(self, position: int, linear: Tensor) -> Tensor:
        normalised = self.stages[position].normalise(linear, running=self.running, coupling=self.coupling)
        return masked(self.masks.stages[position], normalised)
