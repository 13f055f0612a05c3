"""make torture: every fault, often, and at its end a table of what was done how many times and how it went.

Exit code 1 if anything was lost, crashed, hung, was left without a sentence, or if a wrong change of the arithmetic went unnoticed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.torture.fuzz import fuzz
from tests.torture.originals import ROOT

HERE = Path("tests/torture")


@dataclass
class Row:
    """A line of the table."""

    fault: str
    times: str
    result: str
    good: bool
    seconds: float = 0.0


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FSNN_TORTURE": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, errors="replace", env=environment)


def damaged_files(args: argparse.Namespace) -> list[Row]:
    tally = fuzz(args.first, args.cases)
    for failure in tally.failures:
        print(f"    {failure}")
    counts = tally.counts
    result = f"{counts['refused']} refused with a sentence, {counts['read']} still readable, {counts['failed']} failed"
    return [Row(f"damaged files, {len(tally.readers)} readers", f"{sum(counts.values())} files", result, not tally.failures)]


def kills(args: argparse.Namespace) -> list[Row]:
    done = python("-m", "tests.torture.kill_cases", str(args.kills), str(args.kills // 2))
    if done.returncode:
        return [Row("kill -9", "", (done.stdout + done.stderr).strip()[-300:], False)]
    rows = []
    for name, found in json.loads(done.stdout.splitlines()[-1]).items():
        times = f"{found['kills']} kills, {found['inside a write']} inside a write"
        ends = f"; {found['came to their end']} came to their end, same bits" if "came to their end" in found else ""
        rows.append(Row(f"kill -9: {name}", times, f"0 half files{ends}", True))
    return rows


def resumed(args: argparse.Namespace) -> list[Row]:
    rounds = max(1, args.kills // 40)
    done = python("-m", "tests.torture.resume_cases", str(rounds))
    if done.returncode:
        return [Row("fsnn-run ended and resumed", "", (done.stdout + done.stderr).strip()[-300:], False)]
    times = f"{json.loads(done.stdout.splitlines()[-1])['kills']} kills in {rounds} runs; SIGINT, SIGTERM, a pair of processes"
    return [Row("fsnn-run ended and resumed", times, "the results of a run in one go", True)]


def tests(fault: str, *names: str) -> Callable[[argparse.Namespace], list[Row]]:
    """A row of tests: how many, and how they went."""

    def row(args: argparse.Namespace) -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", f"--junitxml={report}", *names)
            if not report.exists():
                return [Row(fault, "", done.stdout[-300:], False)]
            cases = list(ElementTree.parse(report).iter("testcase"))
        failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
        skipped = [case.find("skipped") for case in cases if case.find("skipped") is not None]
        for case in cases:
            for found in case.iter("property"):
                print(f"    {str(case.get('name')).partition('[')[2].rstrip(']')}: {found.get('value')}")
        reasons = {str(one.get("message")) for one in skipped if one is not None}
        result = f"{len(cases) - len(failed) - len(skipped)} held"
        result += f", {len(failed)} failed: {', '.join(map(str, failed))}" if failed else ""
        result += f", {len(skipped)} not possible here: {'; '.join(sorted(reasons))}" if skipped else ""
        if failed:
            print(done.stdout[-4000:])
        return [Row(fault, f"{len(cases)} cases", result, not failed)]

    return row


def wrong_changes(args: argparse.Namespace) -> list[Row]:
    done = python("-m", "tests.torture.mutation", "--count", str(args.mutants), "--patience", "12")
    said = [line for line in done.stdout.splitlines() if re.match(r"\d+ changes|coverage", line) or line.startswith("    ")]
    print("\n".join(said))
    found = re.search(r"(\d+) changes, (.*)", done.stdout)
    if found is None:
        return [Row("wrong changes of chip/, emulator/, compare/", "", (done.stdout + done.stderr)[-300:], False)]
    return [Row("wrong changes of chip/, emulator/, compare/", f"{found[1]} changes", found[2], done.returncode == 0)]


PARTS: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "files": damaged_files,
    "readers": tests("known bad files", f"{HERE}/test_readers.py", "tests/test_torch_archive.py", "tests/test_plain_pickle.py"),
    "kills": kills,
    "resume": resumed,
    "disks": tests("full and read-only disks", f"{HERE}/test_nothing_lost.py", "-k", "disk or read_only"),
    "machines": tests("poor machines, locales, clocks", f"{HERE}/test_machines.py"),
    "long": tests("long runs", f"{HERE}/test_long_run.py"),
    "supply": tests("locks, bills, advisories; nothing leaves the machine", "tests/test_supply_chain.py", "tests/test_privacy.py"),
    "mutants": wrong_changes,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make torture", description="Faults on purpose, many of them.")
    parser.add_argument("--cases", type=int, default=20000, help="damaged files to read (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first damaged file: the same number is the same file")
    parser.add_argument("--kills", type=int, default=200, help="kills of each writer, half as many of each command (default: %(default)s)")
    parser.add_argument("--mutants", type=int, default=8, help="wrong changes of each of three folders (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="only these rows")
    args = parser.parse_args()
    rows: list[Row] = []
    for name in args.only:
        began = time.monotonic()
        print(f"{name} …", flush=True)
        found = PARTS[name](args)
        found[-1].seconds = time.monotonic() - began
        print("\n".join(f"    {row.fault}: {row.times}: {row.result}" for row in found), flush=True)
        rows += found
    print(table(rows), flush=True)
    return int(not all(row.good for row in rows))


def table(rows: list[Row]) -> str:
    head = ("fault", "how often", "result", "seconds")
    lines = [head, *((row.fault, row.times, row.result, f"{row.seconds:.0f}" if row.seconds else "") for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(3)]
    marks = ["", *("ok   " if row.good else "FAIL " for row in rows)]
    width = max(map(len, marks))
    text = ["".join((mark.ljust(width), *(line[at].ljust(widths[at] + 2) for at in range(3)), line[3])) for mark, line in zip(marks, lines)]
    return "\n".join(line.rstrip() for line in text)


if __name__ == "__main__":
    sys.exit(main())
