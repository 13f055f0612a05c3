"""Runs read_cases in processes that may die, and counts."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

from tests.torture.originals import ROOT

PER_PROCESS = 2000


@dataclass
class Tally:
    """What became of the cases; `failures` names each that did not end with its content or a sentence."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    readers: set[str] = field(default_factory=set)


def fuzz(first: int, cases: int) -> Tally:
    """Read that many damaged files. A process that dies takes one case with it: the next goes on after it."""
    tally, at, end = Tally(), first, first + cases
    while at < end:
        stop = min(end, at + PER_PROCESS)
        command = [sys.executable, "-m", "tests.torture.read_cases", str(at), str(stop)]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
        done = _count(run.stdout, tally)
        if run.returncode or done == 0:
            case = next((line for line in reversed(run.stdout.splitlines()) if line.startswith("case ")), "case none")
            tally.failures.append(f"{case}: the process ended with {run.returncode}: {run.stderr[-400:]}")
            tally.counts["failed"] += 1
            done += 1
        at += done
    return tally


def _count(output: str, tally: Tally) -> int:
    case, done = "", 0
    for line in output.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "case":
            case = line
            tally.readers.add(rest.partition(" ")[2])
        elif kind == "outcome":
            tally.counts[rest.partition(" ")[0]] += 1
            done += 1
            if rest.startswith("failed"):
                tally.failures.append(f"{case}: {rest}")
    return done
