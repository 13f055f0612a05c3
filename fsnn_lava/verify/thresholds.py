"""Thresholds that a user may set for a run in addition to the bounds of the equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fsnn_lava.errors import BadArgument

Contraction = Literal["none", "local", "certified"]


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Thresholds that a run must meet in addition to the bounds of the equations, by default none. A run that misses one fails.

    Thresholds are about how good a network is. Whether the chip ran it faithfully is always checked.

    Args:
        residual_max: largest |f(a) - a| of any neuron, spikes per step. Falls as 1/T: raise `steps` before you relax it.
        distance_max: largest |a - a*| of any neuron, spikes per step.
        shift_max: largest |a*_q - a*| of any neuron between the integer and the float network, spikes per step. Needs a model.
        contraction: the weakest form to accept: "certified" (the gains of E13 prove it), "local" (it holds at the equilibria that were
            examined) or "none".
        accuracy_min: fraction of correct answers, 0 to 1. Needs labels.
        agreement_min: fraction of samples for which the float network gives the same answer, 0 to 1. Needs a model.
        dead_max: fraction of neurons that never spiked in any sample, 0 to 1.

    Raises:
        BadArgument: a number is out of range.

    Examples:
        >>> verdict = fl.compare(result, chip, pixels, model=net, thresholds=fl.Thresholds(agreement_min=0.5))
    """

    residual_max: float | None = None
    distance_max: float | None = None
    shift_max: float | None = None
    contraction: Contraction = "none"
    accuracy_min: float | None = None
    agreement_min: float | None = None
    dead_max: float | None = None

    def __post_init__(self) -> None:
        for name in ("residual_max", "distance_max", "shift_max"):
            value = getattr(self, name)
            if value is not None and not value >= 0.0:
                raise BadArgument(f"{name} must be at least 0 (spikes per step), got {value}")
        for name in ("accuracy_min", "agreement_min", "dead_max"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise BadArgument(f"{name} must be between 0 and 1, got {value}")
        if self.contraction not in ("none", "local", "certified"):
            raise BadArgument(f"contraction must be none, local or certified, got {self.contraction!r}")
