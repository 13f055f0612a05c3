"""Trial: the accuracy of one candidate on held-out samples, and its cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from math import isfinite, sqrt
from typing import Any

from fsnn_lava.errors import BadFile
from fsnn_lava.tuning.candidate import Candidate


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The outcome of one candidate; a candidate that cannot be built, or whose clips change rates, has a `failure` and no figures."""

    candidate: Candidate
    samples: int = 0
    right: int = 0
    lost: int = 0  # answers that only the float network gets right
    gained: int = 0  # answers that only this network gets right
    answer: str = ""  # from the placement: "runs", "runs with loss", "cannot run", "does not fit"
    cores: int | None = None
    chip_steps: int = 0
    messages: float = 0.0
    operations: float = 0.0
    time: tuple[float, float] | None = None  # seconds
    energy: tuple[float, float] | None = None  # joules, without host I/O
    energy_with_host: tuple[float, float] | None = None
    digest: str = ""
    failure: str = ""

    @property
    def accuracy(self) -> float:
        """Fraction of correct answers of the trial."""
        return self.right / max(1, self.samples)

    @property
    def drop(self) -> float:
        """The drop in accuracy compared with the float network, as a fraction."""
        return (self.lost - self.gained) / max(1, self.samples)

    @property
    def runs(self) -> bool:
        """Whether the board can run the trial's network."""
        return self.answer in ("runs", "runs with loss")

    def price(self) -> tuple[float, ...]:
        """Return the sort key for the cheapest trial: the middle of the energy range if known, then steps, operations, messages."""
        middle = 0.0 if self.energy is None else sqrt(self.energy[0] * self.energy[1])
        return middle, self.chip_steps, self.operations, self.messages

    def to_dict(self) -> dict[str, Any]:
        """Return numbers, strings and lists that json.dumps accepts."""
        return asdict(self)

    @staticmethod
    def from_dict(values: Any) -> Trial:
        """Create a trial from `to_dict`'s values; raise BadFile if they do not describe a trial."""
        names, options = {f.name for f in fields(Trial)}, {f.name for f in fields(Candidate)}
        if not isinstance(values, dict) or set(values) != names or not isinstance(values["candidate"], dict):
            raise BadFile("a trial must have exactly the fields of Trial")
        if set(values["candidate"]) != options:
            raise BadFile("a trial's candidate must have exactly the fields of Candidate")
        pairs = {name: None if values[name] is None else tuple(values[name]) for name in ("time", "energy", "energy_with_host")}
        made = Trial(**{**values, **pairs, "candidate": Candidate(**values["candidate"])})
        _check(made)
        return made


def _check(trial: Trial) -> None:
    """Raise BadFile unless every figure is possible for a trial."""
    candidate = trial.candidate
    counts = (trial.samples, trial.right, trial.lost, trial.gained, trial.chip_steps, candidate.bits, candidate.steps)
    pairs = (trial.time, trial.energy, trial.energy_with_host)
    numbers = [trial.messages, trial.operations, *(end for pair in pairs if pair is not None for end in pair)]
    numbers += [] if candidate.dead_band is None else [candidate.dead_band]
    optional = () if trial.cores is None else (trial.cores,)
    if not all(type(count) is int and 0 <= count < 2**53 for count in (*counts, *optional)):
        raise BadFile("the counts of a trial must be non-negative integers")
    if not all(type(number) in (int, float) and isfinite(number) and number >= 0 for number in numbers):
        raise BadFile("the figures of a trial must be non-negative numbers")
    if any(pair is not None and len(pair) != 2 for pair in pairs):
        raise BadFile("a range must be a pair of numbers")
    if candidate.encoding not in ("rate", "delta") or type(candidate.per_channel) is not bool:
        raise BadFile("the candidate of a trial must be one that the search tries")
    if not all(isinstance(text, str) for text in (trial.answer, trial.digest, trial.failure)):
        raise BadFile("the answer, digest and failure of a trial must be text")
