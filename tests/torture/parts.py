"""The parts of `make torture`: each does one kind of harm many times and gives the rows of the table about it."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.torture.fuzz import fuzz
from tests.torture.mutation import FILES
from tests.torture.originals import ROOT

HERE = "tests/torture"
KILLED = ("write net.h5", "write model.pt", "fsnn-export", "fsnn-run", "fsnn-train")
LIMIT = 3400.0  # seconds that a part may take, on a busy machine too: then it has failed, and the table is still printed


@dataclass
class Row:
    """A line of the table. `key` is that of the line in docs/reliability.md which it fills."""

    key: str
    fault: str
    times: str
    result: str
    good: bool
    seconds: float = 0.0
    details: list[str] = field(default_factory=list)


Part = Callable[[argparse.Namespace], list[Row]]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What a part does runs in a process of its own."""
    environment = {**os.environ, "FSNN_TORTURE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", env=environment, timeout=LIMIT)


def last_words(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stdout + done.stderr).split())[-300:]


def damaged_files(args: argparse.Namespace) -> list[Row]:
    tally = fuzz(args.first, args.cases)
    counts = tally.counts
    result = f"{counts['refused']:,} refused with a message, {counts['read']:,} still readable, {counts['failed']} failed"
    fault, times = f"damaged files, {len(tally.readers)} readers", f"{sum(counts.values()):,} files"
    return [Row("files", fault, times, result, not tally.failures, details=tally.failures)]


def kills(args: argparse.Namespace) -> list[Row]:
    done = python("-m", "tests.torture.kill_cases", str(args.kills), str(args.kills // 2))
    if done.returncode:
        return [Row(f"kill {name}", f"kill -9: {name}", "", last_words(done), False) for name in KILLED]
    rows = []
    for name, found in json.loads(done.stdout.splitlines()[-1]).items():
        times = f"{found['kills']} kills, {found['during a write']} during a write"
        ends = f"; {found['ran to completion']} ran to completion, same bits" if "ran to completion" in found else ""
        rows.append(Row(f"kill {name}", f"kill -9: {name}", times, f"0 partial files{ends}", True))
    return rows


def resumed(args: argparse.Namespace) -> list[Row]:
    rounds = max(1, args.kills // 40)
    done = python("-m", "tests.torture.resume_cases", str(rounds))
    fault = "fsnn-run ended and resumed"
    if done.returncode:
        return [Row("resume", fault, "", last_words(done), False)]
    times = f"{json.loads(done.stdout.splitlines()[-1])['kills']} kills in {rounds} runs; SIGINT, SIGTERM, a pair of processes"
    return [Row("resume", fault, times, "the same results as an uninterrupted run", True)]


def tests(key: str, fault: str, *names: str) -> Part:
    """A row of tests: how many, and how they went."""

    def row(args: argparse.Namespace) -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", f"--junitxml={report}", *names)
            if not report.exists():
                return [Row(key, fault, "", last_words(done), False)]
            cases = list(ElementTree.parse(report).iter("testcase"))
        return [_row_of(key, fault, cases, done)]

    return row


def _row_of(key: str, fault: str, cases: list[ElementTree.Element], done: subprocess.CompletedProcess[str]) -> Row:
    failed = [str(case.get("name")) for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [str(one.get("message")) for case in cases for one in case.findall("skipped")]
    details = [
        ": ".join(filter(None, (str(case.get("name")).partition("[")[2].rstrip("]"), str(found.get("value")))))
        for case in cases
        for found in case.iter("property")
    ]
    result = f"{len(cases) - len(failed) - len(skipped)} held"
    result += f", {len(failed)} failed: {', '.join(failed)}" if failed else ""
    result += f", {len(skipped)} not possible here: {'; '.join(sorted(set(skipped)))}" if skipped else ""
    good = not failed and done.returncode == 0 and bool(cases)
    return Row(key, fault, f"{len(cases)} cases", result, good, details=details + ([] if good else [done.stdout[-4000:]]))


def wrong_changes(args: argparse.Namespace) -> list[Row]:
    done = python("-m", "tests.torture.mutation", "--count", str(args.mutants))
    fault = f"wrong changes of {', '.join(f'{name}/' for name in FILES)}"
    said = next((line for line in done.stdout.splitlines() if " changes (" in line), "")
    if not said:
        return [Row("mutants", fault, "", last_words(done), False)]
    times, _, result = said.partition(": ")
    left = [line.strip() for line in done.stdout.splitlines() if line.startswith("    ")]
    return [Row("mutants", fault, times, result, done.returncode == 0, details=left)]


PARTS: dict[str, Part] = {  # the longest first: two run at a time
    "mutants": wrong_changes,
    "kills": kills,
    "files": damaged_files,
    "machines": tests("machines", "poor machines, locales, clocks", f"{HERE}/test_machines.py"),
    "resume": resumed,
    "long": tests("long", "long runs", f"{HERE}/test_long_run.py"),
    "readers": tests(
        "readers",
        "known bad files",
        f"{HERE}/test_readers.py",
        "tests/files/test_torch_archive.py",
        "tests/files/test_plain_pickle.py",
        "-k",
        "not damaged_file",
    ),
    "disks": tests("disks", "full and read-only disks", f"{HERE}/test_nothing_lost.py", "-k", "disk or read_only"),
    "twice": tests(
        "twice",
        "two runs into one folder or file",
        "tests/training/test_loop.py",
        "tests/running/test_job.py",
        "tests/cli/test_train.py",
        "-k",
        "two_runs_do_not_share or second_run or takes_nothing_away",
    ),
    "supply": tests("supply", "locks, bills, advisories", "tests/whole/test_supply_chain.py"),
    "privacy": tests("privacy", "nothing leaves the machine", "tests/whole/test_privacy.py"),
}
