"""Check: one property that must hold, whether it held, and where it did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

OFFENDERS_KEPT = 20  # listed per check; all of them are counted


class Offender(TypedDict, total=False):
    """One place where a check failed. Every check sets `what`; the other keys are set if they apply."""

    sample: int  # index in the run
    layer: str
    neuron: list[int]  # position in the layer's shape
    weight: list[int]  # position in the weight array
    step: int  # in the layer's own time, counted from 1
    what: str  # what is wrong, and by how much
    kind: str  # for the charge and sums checks: "charge", "sum", "clip" or "potential"
    position: int  # index of the layer; the readout comes last
    measured: float
    low: float
    high: float
    off: float
    residual: float
    bound: float
    backend: list[int]  # spike count and final potential
    emulator: list[int]
    backend_spike: int
    emulator_spike: int
    emulator_before: int  # potentials, units 2**-6
    emulator_after: int
    threshold: int


@dataclass(frozen=True, kw_only=True)
class Check:
    """The outcome of one check. A check that was not done does not affect the verdict.

    Attributes:
        name: for a run "float", "shift", "contraction", "certificate", "residual", "record", "charge", "spikes", "settled" or "accuracy",
            with delta encoding "sums", "dead band" and "messages" instead of "charge" and "spikes"; for an export "file", "folding", …
        link: the link of the chain that it judges.
        passed: whether the equations hold; None if it was not done.
        summary: the finding in one sentence; for a check that was not done, what it needs.
        missed: the user's thresholds that were missed, one sentence each.
        judges: False if it only measures, because neither the equations nor the user set a limit.
        numbers: what was measured, by name.
        offenders: the first places where it failed or missed a threshold, at most 20.
        series: data that a report plots.
    """

    name: str
    link: str = ""
    passed: bool | None
    summary: str
    missed: Sequence[str] = ()
    judges: bool = True
    numbers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    offenders: Sequence[Offender] = field(default=(), repr=False)
    series: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def done(self) -> bool:
        """Whether the check was done, that is, everything it needs was given."""
        return self.passed is not None

    @property
    def ok(self) -> bool:
        """Whether it neither failed nor missed a threshold; True if it was not done."""
        return self.passed is not False and not self.missed

    @property
    def mark(self) -> str:
        """The outcome in one word: ok, FAIL, MISS (one of the user's thresholds), info (it only measures), or -- if it was not done."""
        if not self.done:
            return "--"
        if not self.passed:
            return "FAIL"
        return "MISS" if self.missed else "ok" if self.judges else "info"


def not_done(name: str, link: str, why: str) -> Check:
    """Return a check that could not be done, and why."""
    return Check(name=name, link=link, passed=None, summary=f"not done: {why}")


def offender_text(offender: Offender) -> str:
    """Describe one offender of a check: `sample 3, layer 'conv1', neuron (0, 4, 5): …`."""
    where = []
    if "sample" in offender:
        where.append(f"sample {offender['sample']}")
    if "layer" in offender:
        where.append(f"layer {offender['layer']!r}")
    if "neuron" in offender:
        where.append(f"neuron {tuple(offender['neuron'])}")
    if "step" in offender:
        where.append(f"step {offender['step']}")
    return f"{', '.join(where)}: {offender.get('what', '')}"


def first_offender_layer(offenders: Sequence[Offender], kind: str) -> str:
    """Return a sentence ending that names the layer of the first offender of a kind; empty if no listed offender is of that kind.

    Raises ValueError if the list is empty, since the totals, which may come from a file, then contradict each other.
    """
    if not offenders:
        raise ValueError(f"there is a violation ({kind}) but none is listed")
    return next((f"; the first is in layer {offender['layer']!r}" for offender in offenders if offender["kind"] == kind), "")
