"""What a user may demand of a run beyond the bounds. By default only the bounds of the equations count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fsnn_lava.errors import BadArgument

Contraction = Literal["none", "local", "certified"]


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """A run fails if it misses one of these. None: no demand beyond the bounds of the equations."""

    residual_max: float | None = None  # largest |f(a) - a| of any neuron, spikes per step
    distance_max: float | None = None  # largest |a - a*| of any neuron, spikes per step
    shift_max: float | None = None  # largest |a*_q - a*| of any neuron, spikes per step
    contraction: Contraction = "none"  # the weakest state that is accepted
    accuracy_min: float | None = None  # share of correct answers
    agreement_min: float | None = None  # share of samples for which the float network gives the same answer
    dead_max: float | None = None  # share of neurons that never spiked in any sample

    def __post_init__(self) -> None:
        for name in ("residual_max", "distance_max", "shift_max"):
            value = getattr(self, name)
            if value is not None and not value >= 0.0:
                raise BadArgument(f"{name} must be 0 or more (spikes per step), got {value}")
        for name in ("accuracy_min", "agreement_min", "dead_max"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise BadArgument(f"{name} must be a share between 0 and 1, got {value}")
        if self.contraction not in ("none", "local", "certified"):
            raise BadArgument(f"contraction must be none, local or certified, got {self.contraction!r}")
