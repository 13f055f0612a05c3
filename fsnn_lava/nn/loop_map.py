"""The map of the last layer's rates once around the loop (E4), and its fixed point."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.dropout import Masks, masked
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.nn.stage import Stages


@dataclass(frozen=True, repr=False)
class Equilibrium:
    """Rates with a = f(a) (E4), as `FSNN.equilibrium` returns them. Check `converged` before you use them.

    Attributes:
        rates: [B, *shape] per layer, spikes per step in [0, 1].
        residual: [B]: the largest |f(a) - a| of any neuron of the last layer, spikes per step.
        steps: evaluations of f.
        converged: whether the residual is at most `tol` for every sample.
    """

    rates: tuple[Tensor, ...]
    residual: Tensor
    steps: int
    converged: bool

    def __repr__(self) -> str:
        worst = float(self.residual.max()) if self.residual.numel() else 0.0
        shapes = ", ".join(str(list(rates.shape)) for rates in self.rates)
        return f"Equilibrium(converged={self.converged}, residual at most {worst:.2g}, {self.steps} steps, rates {shapes})"


@dataclass(frozen=True, kw_only=True)
class LoopMap:
    """f of E4 for one batch: the last layer's rates -> the rates of every layer, the last one mapped once around.

    `weight` is the feedback's for this pass. `running`: batch norm uses its running statistics, otherwise those of the mini-batch, which
    update the running ones with every call unless `updates` is False.
    """

    stages: Stages
    feedback: RestrictedFeedback | None
    vth: float
    first: Tensor  # F¹x* without batch norm, [B, *shape]
    weight: Tensor | None
    masks: Masks
    running: bool
    coupling: SampleCoupling = WHOLE_BATCH
    updates: bool = True

    def __call__(self, rates: Tensor) -> tuple[Tensor, ...]:
        out: list[Tensor] = []
        for position, stage in enumerate(self.stages):
            current = self.own_current() if position == 0 else self._current(position, stage.current(out[-1]))
            if position == 0 and self.feedback is not None and self.weight is not None:
                current = current + masked(self.masks.feedback, self.feedback.operator.apply(self.weight, rates))
            out.append(rate_of(current, self.vth))
        return tuple(out)

    def own_current(self) -> Tensor:
        """The first layer's current without the feedback's."""
        return self._current(0, self.first)

    def _current(self, position: int, linear: Tensor) -> Tensor:
        normalised = self.stages[position].normalise(linear, running=self.running, coupling=self.coupling, updates=self.updates)
        return masked(self.masks.stages[position], normalised)
