"""Settled: how far the rates of a run are from the equilibrium equation, compared with what its steps can resolve (E11)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import Literal

Answer = Literal["yes", "partly", "no"]

SLOW = 0.75  # of the slope that E11 predicts: a run whose residual falls more slowly than this may need more steps than E11 suggests


@dataclass(frozen=True, kw_only=True)
class Settled:
    """How far the rates of neurons that fire, or should fire, are from the equilibrium equation a = f(a).

    A run over T steps resolves a rate to one spike, 1/A, where A is the sum of E3's weights: T without a leak, at most 1/(1 - lambda)
    with one. A residual of c/A means that the neuron is c spikes behind or ahead (E11).

    Attributes:
        answer: "yes" if no rate of any sample is further than `level` from f(a), "no" if this holds for less than half of the samples,
            else "partly". At most "partly" if a sample has no equilibrium.
        residual: the largest |f(a) - a|, spikes per step.
        typical: root mean square of the residual over the neurons that fire or should fire.
        resolution: what the run can resolve, 1/A.
        level: what the residual is compared with: the user's `residual_max`, by default `resolution`. With delta encoding, each layer has
            its own default, and these are the largest of them.
        beyond: fraction of the rates of neurons that fire or should fire whose residual is above `level`, 0 to 1.
        samples_settled: fraction of the samples without a rate beyond `level`, 0 to 1.
        unexplained: fraction of these rates whose residual is also above what spikes in flight and the phases of their sources explain in a
            run that has reached its equilibrium (E11), 0 to 1; None with delta encoding.
        demanded: whether `level` was set by the user.
        slope: slope of log ||f(a) - a|| over log T, measured between T/4 and T steps; None for fewer than 8 steps or a residual of 0.
        slope_samples: number of leading samples on which it was measured.
        expected_slope: the slope that E11 predicts, that of log 1/A, which is -1 without a leak. None with reset to zero, which E11 does
            not cover.
        steps: approximate number of steps that bring every residual to `level`, by E11's 1/A; a lower bound if the run `falls_slowly`;
            None if no number does.
        floor: limit that the largest residual falls to with more steps: 0 without a leak; None with reset to zero.
        distance: the largest |a - a*| over the samples whose equilibrium was found; None if there are none.
        without: number of samples for which no equilibrium was found.

    Examples:
        >>> verdict.settled.answer in ("yes", "partly", "no")
        True
    """

    answer: Answer
    residual: float
    typical: float
    resolution: float
    level: float
    beyond: float
    samples_settled: float
    unexplained: float | None = None
    demanded: bool = False
    slope: float | None = None
    slope_samples: int = 0
    expected_slope: float | None = None
    steps: int | None = None
    floor: float | None = None
    distance: float | None = None
    without: int = 0

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def __str__(self) -> str:
        return f"{self.answer}: {self.sentence()}"

    def short(self) -> str:
        """Return the answer and its number, for the first line of a verdict."""
        level = f"the allowed {self.level:.3g}" if self.demanded else self._resolved()
        steps = f", {self._number_of_steps()} needed" if self.beyond and self.steps is not None else ""
        return f"{self.answer} (|f(a) - a| up to {self.residual:.3g}, {_share(self.beyond)} beyond {level}{steps})"

    def _resolved(self) -> str:
        return f"the {self.level:.3g} that it resolves"

    def sentence(self) -> str:
        """Return the finding in one sentence."""
        most = f"|f(a) - a| is at most {self.residual:.4g} spikes per step"
        share = f"{_share(self.beyond)} of the rates of neurons that fire or should fire are off by more than {self._level()}"
        if 0.0 < self.samples_settled < 1.0:
            share += f", none of them in {self.samples_settled:.2%} of the samples"
        if self.beyond and self.unexplained is not None:
            share += f", and {_share(self.unexplained)} by more than spikes under way and the phases of their sources explain"
        parts = [f"{most}; {share}", *([text] if (text := self._trend()) else [])]
        if self.distance is not None:
            parts.append(f"|a - a*| is at most {self.distance:.4g}")
        if self.without:
            parts.append(f"no equilibrium was found for {self.without} samples")
        return "; ".join(parts)

    def _level(self) -> str:
        if self.demanded:
            return f"the allowed {self.level:.4g}"
        return f"{self.level:.4g}, which is what the run can resolve"

    def _trend(self) -> str:
        slope = ""
        if self.slope is not None:
            predicted = "" if self.expected_slope is None else f"E11: T^{self.expected_slope:.2f}; "
            slope = f"it falls as T^{self.slope:.2f} so far ({predicted}{self.slope_samples} samples)"
        link = ", so that " if self.falls_slowly and self.steps is not None else ", "
        return link.join(text for text in (slope, self.outlook()) if text)

    def outlook(self) -> str:
        """Return what more steps would do; empty if no rate is beyond the level."""
        if not self.beyond:
            return ""
        if self.floor is None:
            return "reset to zero discards charge, so more steps do not settle it"
        if self.level == 0.0:
            return "no number of steps brings all of them to exactly 0"
        if self.steps is None:
            return f"the leak leaves a residual of up to {self.floor:.3g}, however long it runs"
        if self.falls_slowly:
            return f"{self._number_of_steps()} are needed to bring all of them within {self.level:.4g}"
        return f"{self._number_of_steps()} would bring all of them within {self.level:.4g}"

    @property
    def falls_slowly(self) -> bool:
        """Whether the measured slope is so much flatter than E11's that `steps` is only a lower bound."""
        return self.slope is not None and self.expected_slope is not None and self.slope > SLOW * self.expected_slope

    def _number_of_steps(self) -> str:
        return f"{'at least' if self.falls_slowly else 'about'} {self.steps} steps"


def _share(share: float) -> str:
    """Format a fraction in percent, so that a nonzero one does not look like 0."""
    return "less than 0.01%" if 0.0 < share < 5e-5 else f"{share:.2%}"


def answer_of(*, unsettled: int, samples: int, without: int) -> Answer:
    """Return "yes" if every sample has settled, "no" if less than half of them have, else "partly"."""
    if 2 * unsettled > samples:
        return "no"
    return "partly" if unsettled or without else "yes"


def steps_to_settle(residual: float, level: float, *, weight_sum: float, leak: float) -> int | None:
    """Estimate how many steps bring a residual to `level` if it falls as 1/A (E11); None if the leak's floor is above it."""
    wanted = weight_sum * residual / level
    if leak == 1.0:
        return ceil(wanted - 1e-9)
    left = 1.0 - wanted * (1.0 - leak)  # lambda**T of A = (1 - lambda**T)/(1 - lambda)
    return ceil(log(left) / log(leak) - 1e-9) if left > 0.0 else None
