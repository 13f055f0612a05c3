"""Verdict: what the comparator found, one Check for each thing that must hold. Data only; `report` draws it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

OFFENDERS_KEPT = 20  # of each check; all are counted
_TEXT_WIDTH = 118
_TEXT_OFFENDERS = 3


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that must hold. A check that could not be done (`done` False) neither passes nor fails a verdict."""

    name: str  # "charge", "residual", "contraction", "shift", "spikes", "accuracy", "float"
    link: str  # which hop of the chain it judges
    passed: bool
    summary: str  # one sentence
    done: bool = True
    numbers: Mapping[str, Any] = field(default_factory=dict)
    offenders: Sequence[Mapping[str, Any]] = ()  # the worst OFFENDERS_KEPT: sample, layer, neuron, what and by how much
    series: Mapping[str, Any] = field(default_factory=dict)  # what a report plots

    @property
    def mark(self) -> str:
        if not self.done:
            return "--"
        return "ok" if self.passed else "FAIL"


def not_done(name: str, link: str, why: str) -> Check:
    return Check(name=name, link=link, passed=True, done=False, summary=f"not done: {why}")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """PASS if every check that was done passed, and there was one."""

    checks: tuple[Check, ...]
    about: Mapping[str, Any] = field(default_factory=dict)  # backend, graph, steps, samples, digest
    material: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)  # the run, as `write_report` takes it, if at hand

    @property
    def passed(self) -> bool:
        done = [check for check in self.checks if check.done]
        return bool(done) and all(check.passed for check in done)

    @property
    def word(self) -> str:
        """PASS, FAIL, or NOT CHECKED where no check was done."""
        if not any(check.done for check in self.checks):
            return "NOT CHECKED"
        return "PASS" if self.passed else "FAIL"

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.done and not check.passed)

    def check(self, name: str) -> Check:
        """The check of that name; KeyError if there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def to_dict(self, *, series: bool = False) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts: json.dumps takes it; what is not finite becomes null. `series` adds what is plotted."""
        names = [f.name for f in fields(Check) if series or f.name != "series"]
        checks = [plain({**{name: getattr(check, name) for name in names}, "mark": check.mark}) for check in self.checks]
        return {"passed": self.passed, "about": plain(self.about), "checks": checks}

    def to_text(self) -> str:
        """One screen."""
        lines = [f"{self.word}  {self._title()}"]
        for check in self.checks:
            lines += textwrap.wrap(
                check.summary, _TEXT_WIDTH, initial_indent=f"  {check.mark:<5}{check.name:<12} ", subsequent_indent=" " * 20
            )
            if not check.passed:
                lines += [
                    "".ljust(20) + textwrap.shorten(offender_text(o), _TEXT_WIDTH, placeholder=" …")
                    for o in check.offenders[:_TEXT_OFFENDERS]
                ]
        return "\n".join(lines)

    def to_html(self, path: str | Path) -> None:
        """One self-contained page at `path`: what was found, and, after `compare`, figures of the run itself."""
        from fsnn_lava.report.report import write_report

        write_report(path, verdict=self, **self.material)

    def _title(self) -> str:
        about = self.about
        where = about.get("backend", "?") + (f" ({about['graph']})" if about.get("graph") else "")
        return f"{where}: {about.get('samples', 0)} samples, {about.get('steps', 0)} steps, network {str(about.get('digest', ''))[:12]}"


def offender_text(offender: Mapping[str, Any]) -> str:
    """`sample 3, layer 'conv1', neuron (0, 4, 5): …` of one offender."""
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


def plain(value: Any) -> Any:
    """`value` in types that JSON has."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
