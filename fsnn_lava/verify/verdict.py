"""Verdict: three answers (faithful, settled, accurate) and one Check for each property that must hold. Data only; `report` draws it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.summary import Cell, Summary
from fsnn_lava.verify.accurate import Accurate
from fsnn_lava.verify.check import Check, offender_text
from fsnn_lava.verify.settled import Settled

_TEXT_WIDTH = 118
_TEXT_OFFENDERS = 3


class About(TypedDict, total=False):
    """Which run a verdict is about, and its totals."""

    backend: str
    graph: str
    steps: int
    samples: int
    digest: str  # digest of the network
    seconds: float  # time of the run itself
    operations: int  # synaptic operations
    updates: int  # neuron updates
    spikes: int


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedRun:
    """The run that was checked, for a report to draw."""

    chip: ChipNetwork
    result: Result
    values: NDArray[np.uint8]
    labels: NDArray[np.int64] | None = None
    model: FSNN | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """What the comparator found: three answers, and the checks behind them.

    *Faithful* is proven or refuted: PASS or FAIL. *Settled* and *accurate* are measured; they fail a run only through the user's
    thresholds (MISSED).

    Attributes:
        checks: one for every link of the chain.
        settled: how far the rates are from the equilibrium; None if that was not measured.
        accurate: accuracy with its interval, and the float network's accuracy; None without labels.
        about: which run was checked, and its totals: backend, steps, samples, digest, seconds, operations, updates, spikes.
        run: the run itself, for `to_html` to draw; None if the verdict does not come from `compare`.

    Examples:
        >>> verdict.faithful, verdict.passed
        (True, True)
        >>> print(verdict.check("charge").mark)
        ok
    """

    checks: tuple[Check, ...]
    settled: Settled | None = None
    accurate: Accurate | None = None
    about: About = field(default_factory=About)
    run: JudgedRun | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        failed = f", failed: {', '.join(check.name for check in self.failed)}" if self.failed else ""
        return f"Verdict({self.word}, {sum(check.done for check in self.checks)} of {len(self.checks)} checks done{failed})"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        rows: list[tuple[Cell, ...]] = []
        for check in self.checks:
            rows.append((check.mark, check.name, check.summary))
            rows += [("", "", offender_text(o)) for o in check.offenders[:_TEXT_OFFENDERS] if not check.ok]
        return Summary(
            title=f"{self.word}  {self.answers()}. {self._title()}", columns=("", "check", "finding"), rows=tuple(rows)
        ).to_html()

    @property
    def faithful(self) -> bool | None:
        """Whether the backend computed what the integer network defines: no check failed. None if no check was done."""
        done = [check.passed for check in self.checks if check.done]
        return all(done) if done else None

    @property
    def passed(self) -> bool:
        """Whether the run is faithful and meets the user's thresholds; a command then exits with code 0."""
        return self.faithful is True and not self.failed

    @property
    def word(self) -> str:
        """PASS; FAIL if not faithful; MISSED if faithful, but one of the user's thresholds is missed; NOT CHECKED if no check was done."""
        if self.faithful is None:
            return "NOT CHECKED"
        if not self.faithful:
            return "FAIL"
        return "PASS" if self.passed else "MISSED"

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed or missed a threshold."""
        return tuple(check for check in self.checks if not check.ok)

    def answers(self) -> str:
        """Return the three answers in one line: faithful, settled, accurate."""
        broken = ", ".join(check.name for check in self.checks if check.passed is False)
        faithful = {True: "faithful", False: f"not faithful ({broken})", None: "no check was done"}[self.faithful]
        settled = "" if self.settled is None else f"settled: {self.settled.short()}"
        accurate = "" if self.settled is None else f"accurate: {'unknown, no labels' if self.accurate is None else self.accurate.short()}"
        return "; ".join(text for text in (faithful, settled, accurate) if text)

    def check(self, name: str) -> Check:
        """Return the check of that name.

        Args:
            name: for example "charge".

        Raises:
            KeyError: there is no such check.
        """
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def to_dict(self, *, series: bool = False) -> dict[str, Any]:
        """Return numbers, strings, lists and dicts that json.dumps accepts; NaN and infinity become None.

        Args:
            series: add the data of the plots, which can be large.
        """
        names = [f.name for f in fields(Check) if series or f.name != "series"]
        checks = [
            plain_values({**{name: getattr(check, name) for name in names}, "done": check.done, "mark": check.mark})
            for check in self.checks
        ]
        answers = {
            "passed": self.passed,
            "word": self.word,
            "faithful": self.faithful,
            "settled": None if self.settled is None else plain_values(asdict(self.settled)),
            "accurate": None if self.accurate is None else plain_values(asdict(self.accurate)),
        }
        return {**answers, "about": plain_values(self.about), "checks": checks}

    def to_text(self) -> str:
        """Return the verdict as text for one screen; `print(verdict)` shows it."""
        lines = [f"{self.word}  {self.answers()}", f"  {self._title()}"]
        for check in self.checks:
            lines += textwrap.wrap(
                check.summary, _TEXT_WIDTH, initial_indent=f"  {check.mark:<5}{check.name:<12} ", subsequent_indent=" " * 20
            )
            if not check.ok:
                lines += [
                    "".ljust(20) + textwrap.shorten(offender_text(o), _TEXT_WIDTH, placeholder=" …")
                    for o in check.offenders[:_TEXT_OFFENDERS]
                ]
        return "\n".join(lines)

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained page: the verdict and, if it comes from `compare`, figures of the run.

        Args:
            path: path of the HTML file.

        Raises:
            BadFile: the file cannot be written.
        """
        from fsnn_lava.report.report import write_report

        if self.run is None:
            write_report(path, verdict=self)
            return
        run = self.run
        write_report(path, verdict=self, chip=run.chip, result=run.result, values=run.values, labels=run.labels, model=run.model)

    def _title(self) -> str:
        about = self.about
        where = about.get("backend", "?") + (f" ({about['graph']})" if about.get("graph") else "")
        return f"{where}: {about.get('samples', 0)} samples, {about.get('steps', 0)} steps, network {str(about.get('digest', ''))[:12]}"


def plain_values(value: Any) -> Any:
    """Convert `value` to JSON types, as in a verdict's to_dict; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain_values(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain_values(item) for item in value]
    if isinstance(value, np.generic):
        return plain_values(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
