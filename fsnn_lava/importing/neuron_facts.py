"""The measured behaviour of a neuron, as numbers and as a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reset = Literal["subtract", "zero", "none", "other"]
CLOSE = 1e-9  # relative; the probe measures to about 1e-15


@dataclass(frozen=True, kw_only=True)
class NeuronFacts:
    """A neuron in the form p[t] = leak p[t - 1] - removed s[t - 1] + I[t], where s[t + delay] = 1 if p[t] reaches the threshold.

    p is on the scale of the input: a gain of the input is part of the threshold. Whatever does not fit this form is in `oddities`.

    Attributes:
        threshold: the smallest input that makes a resting neuron fire.
        strict: it fires at p > threshold, not at p >= threshold; None if rounding hides which.
        leak: fraction of p that remains after a step.
        reset: "subtract" removes the same amount from p at every spike, "zero" sets it to its resting value, "none" does nothing, and
            "other" is none of these.
        removed: by how much a spike lowers p in the next step; 0 unless `reset` is "subtract".
        delay: steps from an input to the spike that it causes.
        gain: factor on the module's input, given the threshold that it states; None if it states none.
        oddities: anything else that it does, each phrased to follow "it".
    """

    threshold: float
    strict: bool | None
    leak: float
    reset: Reset
    removed: float
    delay: int
    gain: float | None = None
    oddities: tuple[str, ...] = ()

    @property
    def before_leak(self) -> bool:
        """Whether a spike subtracts the threshold before the potential leaks, as E1 does; without a leak there is no difference."""
        return self.reset == "subtract" and fact_is_close(self.removed, self.leak * self.threshold, self.threshold)

    @property
    def excess(self) -> float:
        """How much more a spike removes from the next potential than E1's reset, in units of the input."""
        return 0.0 if self.before_leak else self.removed - self.leak * self.threshold

    def __str__(self) -> str:
        parts = [self._reset(), self._comparison(), "does not leak" if self.leak == 1.0 else f"keeps {self.leak:.6g} of u per step"]
        if self.gain is not None and not fact_is_close(self.gain, 1.0, 1.0):
            parts.append(f"multiplies its input by {self.gain:.6g}{self._order()}")
        parts.append("without delay" if self.delay == 0 else f"{self.delay} step{'s' if self.delay > 1 else ''} late")
        return ", ".join([*parts, *self.oddities])

    def _reset(self) -> str:
        if self.reset == "zero":
            return "resets to zero"
        if self.reset == "none":
            return "does not reset"
        if self.reset == "other":
            return "resets neither to zero nor by a fixed amount"
        if self.leak == 1.0 and self.before_leak:
            return "subtracts θ"
        if self.before_leak:
            return "subtracts θ before the leak"
        if fact_is_close(self.removed, self.threshold, self.threshold):
            return "subtracts θ after the leak"
        return f"subtracts {self.removed / self.threshold:.6g} θ"

    def _comparison(self) -> str:
        if self.strict is None:
            return "spikes at u >= θ or u > θ (rounding hides which)"
        return "spikes at u > θ" if self.strict else "spikes at u >= θ"

    def _order(self) -> str:
        if self.gain is not None and self.leak != 1.0 and fact_is_close(self.gain, self.leak, 1.0):
            return " (it leaks after adding the input)"
        return ""


def fact_is_close(value: float, wanted: float, scale: float) -> bool:
    """Return whether a measured number equals the expected one, up to rounding."""
    return abs(value - wanted) <= CLOSE * abs(scale)
