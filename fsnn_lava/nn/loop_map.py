"""The map that takes the feedback's rates once around the loops (E4, E13), and its fixed point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.dropout import Masks, masked
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.graph import Graph
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.nn.stage import Stages


@dataclass(frozen=True, repr=False)
class Equilibrium:
    """Rates with a = f(a) (E4), as `FSNN.equilibrium` returns them. Check `converged` before you use them.

    Attributes:
        rates: [B, *shape] per layer, spikes per step in [0, 1].
        residual: [B]: the largest |f(a) - a| of any neuron where feedback starts (without feedback: of the last layer), spikes per step.
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
    """f of E13 for one batch: it maps the rates of the feedback's sources to the rates of every layer, once around the loops.

    `weights` are the feedback's for this pass. With `running`, batch norm uses its running statistics; otherwise it uses those of the
    mini-batch, which update the running ones with every call unless `updates` is False.
    """

    graph: Graph
    stages: Stages
    feedbacks: tuple[RestrictedFeedback, ...]
    vths: tuple[float, ...]  # by layer
    rate_max: float  # of sigma: 1, or infinite without an upper clip
    entries: tuple[Tensor | None, ...]  # by stage: F x* without batch norm, [B, *shape], of those that start at the input
    weights: tuple[Tensor, ...]  # by feedback
    masks: Masks
    running: bool
    coupling: SampleCoupling = WHOLE_BATCH
    updates: bool = True

    def __call__(self, given: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Map the rates of every source, `given`, once around the loops; a single source may be a tensor."""
        known = dict(zip(self.graph.sources, [given] if isinstance(given, Tensor) else given, strict=True))
        out: list[Tensor] = []
        for position in range(len(self.graph.layers)):
            current: Tensor | None = None
            for index in self.graph.stages_into[position]:
                current = _plus(current, self.stage_current(index, out))
            for index in self.graph.feedbacks_into[position]:
                current = _plus(current, self.feedback_current(index, known))
            if current is None:
                raise AssertionError("a graph has no layer without connections")
            out.append(rate_of(current, self.vths[position], self.rate_max))
        return tuple(out)

    def stage_current(self, index: int, rates: Sequence[Tensor]) -> Tensor:
        """Return the current of a forward connection, with batch norm and dropout."""
        stage, entry = self.stages[index], self.entries[index]
        if entry is None:
            entry = stage.current(rates[self.graph.ends(stage.connection)[0]])
        normalised = stage.normalise(entry, running=self.running, coupling=self.coupling, updates=self.updates)
        return masked(self.masks.stages[index], normalised)

    def feedback_current(self, index: int, known: Mapping[int, Tensor]) -> Tensor:
        """Return the current of a feedback connection, with dropout."""
        source, _ = self.graph.ends(self.graph.feedback[index])
        return masked(self.masks.feedbacks[index], self.feedbacks[index].operator.apply(self.weights[index], known[source]))

    def own_current(self) -> Tensor:
        """Return the current of a chain's first layer, excluding the feedback's."""
        return self.stage_current(0, ())


def _plus(total: Tensor | None, current: Tensor) -> Tensor:
    return current if total is None else total + current
