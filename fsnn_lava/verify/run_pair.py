"""RunPair: two runs on the same samples, answer by answer: what changed, and can the difference be due to chance?"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.formats.results import ResultsReader
from fsnn_lava.verify.verdict import Verdict

LISTED = 500  # samples answered differently that are listed
_CHANCE = 0.05


@dataclass(frozen=True, kw_only=True)
class RunPair:
    """A pair of runs, side by side. Every number counts the same samples: those that both runs have.

    Attributes:
        names: names of the two runs.
        verdicts: verdicts on the two runs.
        facts: (name, value for the first run, value for the second run).
        counted: how many samples of each run the verdicts and facts cover, from its first.
        samples: the same number if both runs used the same data, otherwise 0.
        recorded: how many of those are in only one file, or in none, in detail, so that an answer could not be verified.
        labelled: how many of those have a label.
        right: numbers of samples answered correctly by both, only by the first, only by the second, by neither.
        agreeing: number of samples with the same answer.
        different: the first samples answered differently: sample, label (-1: unknown), both answers.
    """

    names: tuple[str, str]
    verdicts: tuple[Verdict, Verdict]
    facts: tuple[tuple[str, str, str], ...]
    counted: tuple[int, int]
    samples: int
    recorded: int = 0
    labelled: int
    right: tuple[int, int, int, int]
    agreeing: int
    different: tuple[tuple[int, int, int, int], ...] = field(repr=False, default=())

    @property
    def by_chance(self) -> float:
        """The probability of a difference at least this large if both runs were equally accurate (McNemar's exact test)."""
        return mcnemar(self.right[1], self.right[2])

    def sentence(self) -> str:
        """Return what the answers of the pair show, in a few sentences."""
        if not self.samples:
            return "The two runs are of different data, so their answers cannot be compared sample by sample."
        alike = f"Of the {self.samples:,} samples compared, {self.agreeing:,} are answered alike"
        if not self.labelled:
            return f"{alike}.{self._unverified()}"
        both, first, second, _ = self.right
        text = f"{alike}; {both:,} are right in both, {first:,} only in {self.names[0]}, {second:,} only in {self.names[1]}."
        return f"{text}{self._unverified()} {self._conclusion(first, second)}"

    def _unverified(self) -> str:
        return f" For {self.recorded:,} of them, answers are only as recorded, and not verified." if self.recorded else ""

    def _conclusion(self, first: int, second: int) -> str:
        """Return which run is more accurate, given the samples that only one of them answers correctly."""
        if first == second:
            return "Both are equally accurate."
        if self.by_chance >= _CHANCE:
            return f"The difference can be due to chance (p = {self.by_chance:.2g})."
        return f"{self.names[0] if first > second else self.names[1]} is more accurate (p = {self.by_chance:.2g})."

    def to_dict(self) -> dict[str, Any]:
        """Return numbers, strings, lists and dicts that json.dumps accepts."""
        both, first, second, neither = self.right
        answers = {"both_right": both, "only_first_right": first, "only_second_right": second, "neither_right": neither}
        return {
            "runs": list(self.names),
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "samples": self.samples,
            "recorded": self.recorded,
            "labelled": self.labelled,
            "agreeing": self.agreeing,
            **answers,
            "by_chance": self.by_chance if self.labelled else None,
            "different": [dict(zip(("sample", "label", "first", "second"), row, strict=True)) for row in self.different],
        }

    def to_text(self) -> str:
        """Return the comparison as text: a row for each fact, then the sentence."""
        first, second = (max(len(row[column]) for row in (("", *self.names), *self.facts)) for column in (1, 2))
        rows = [f"{what:<22}{a:<{first}}  {b:<{second}}".rstrip() for what, a, b in (("", *self.names), *self.facts)]
        return "\n".join([*rows, "", self.sentence()])


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value of McNemar's test, given the numbers of samples that only one of the two answers correctly."""
    number = only_first + only_second
    tail = sum(comb(number, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**number)


def require_same_classes(readers: tuple[ResultsReader, ResultsReader], names: tuple[str, str]) -> None:
    """Raise BadArgument if the networks of two runs have different numbers of classes."""
    first, second = (reader.chip.readout.classes for reader in readers)
    if first != second:
        raise BadArgument(f"{names[0]} has {first} classes, but {names[1]} has {second}: they cannot be compared")


def compare_runs(
    readers: tuple[ResultsReader, ResultsReader],
    verdicts: tuple[Verdict, Verdict],
    names: tuple[str, str],
    *,
    common: int,
    limit: int | None,
) -> RunPair:
    """Compare a pair of results files side by side.

    Args:
        readers: readers of the two files.
        verdicts: verdicts on the samples counted here.
        names: names of the two runs.
        common: number of leading samples that both share (`common_samples`); 0 if they used different data.
        limit: count at most this many samples; None counts all.
    """
    first, second = readers
    samples = min(common, limit or common)
    counted = (samples, samples) if samples else (min(first.samples, limit or first.samples), min(second.samples, limit or second.samples))
    labels, answers, others = first.row("labels", 0, samples), first.row("predictions", 0, samples), second.row("predictions", 0, samples)
    known = labels >= 0
    a, b = (answers == labels)[known], (others == labels)[known]
    right = tuple(int(np.count_nonzero(found)) for found in (a & b, a & ~b, ~a & b, ~a & ~b))
    rows = [(int(n), int(labels[n]), int(answers[n]), int(others[n])) for n in np.flatnonzero(answers != others)[:LISTED]]
    return RunPair(
        names=names,
        verdicts=verdicts,
        facts=_facts(readers, verdicts, counted),
        counted=counted,
        samples=samples,
        recorded=samples - min(samples, first.details, second.details),
        labelled=int(np.count_nonzero(known)),
        right=(right[0], right[1], right[2], right[3]),
        agreeing=int(np.count_nonzero(answers == others)),
        different=tuple(rows),
    )


def common_samples(first: ResultsReader, second: ResultsReader) -> int:
    """Return how many leading samples two runs share: all of the shorter one if labels and inputs (stored, or hashed) are equal, else 0."""
    number, kept = min(first.samples, second.samples), min(first.details, second.details)
    if not np.array_equal(first.row("labels", 0, number), second.row("labels", 0, number)):
        return 0
    if first.provenance.data_sha256 == second.provenance.data_sha256:
        return number
    if kept == 0 or first.chip.input.shape != second.chip.input.shape:
        return 0
    return number if _same_values(first.values(0, kept), second.values(0, kept)) else 0


def _same_values(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> bool:
    return a.shape == b.shape and bool(np.array_equal(a, b))


def _facts(
    readers: tuple[ResultsReader, ResultsReader], verdicts: tuple[Verdict, Verdict], counted: tuple[int, int]
) -> tuple[tuple[str, str, str], ...]:
    columns = [_column(*run) for run in zip(readers, verdicts, counted, strict=True)]
    return tuple((what, columns[0][what], columns[1][what]) for what in columns[0])


def _column(reader: ResultsReader, verdict: Verdict, counted: int) -> dict[str, str]:
    """Summarise one run of the pair in a few words and numbers, by name; all but the time refer to the first `counted` samples."""
    origin, notes, samples = reader.provenance, reader.chip.notes, reader.samples
    accurate, settled = verdict.accurate, verdict.settled
    return {
        "verdict": verdict.word,
        "settled": "–" if settled is None else f"{settled.answer}, |f(a) - a| <= {settled.residual:.3g}",
        "accuracy": "–" if accurate is None else accurate.short(),
        "network": f"{notes.get('architecture', 'unnamed')}, {origin.digest[:12]}",
        "bits": notes.get("bits", "–"),
        "encoding": "rate" if reader.chip.delta is None else "delta",
        "data set": origin.data or "–",
        "backend": origin.backend + (f" ({origin.graph})" if origin.graph else ""),
        "steps": str(origin.steps),
        "samples": f"{samples:,}" if counted == samples else f"the first {counted:,} of {samples:,}",
        "messages per sample": f"{reader.row('layer_spikes', 0, counted).sum() / counted:,.0f}",
        "operations per sample": f"{reader.row('operations', 0, counted).mean():,.0f}",
        "time per sample": f"{1e3 * origin.seconds / samples:.3g} ms",
        "date": origin.date,
    }


def run_names(first: Path, second: Path) -> tuple[str, str]:
    """Return what to call two results files: their names, with as many folders as are needed to tell them apart."""
    for number in range(1, 1 + max(len(first.parts), len(second.parts))):
        names = tuple("/".join(path.parts[-number:]) for path in (first, second))
        if names[0] != names[1]:
            return names[0], names[1]
    return f"{first.name} (first)", f"{second.name} (second)"
