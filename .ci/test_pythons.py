"""make test-pythons: run the tests and hw_tests on every supported Python that is found, and print a table of the results.

ARGS="3.11 3.13" selects versions; ARGS=--write also writes their rows to the table in docs/verified.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "verified.md"
BEGIN, END = "<!-- make test-pythons ARGS=--write puts its table here -->", "<!-- end of the table -->"
SERIES = ("3.10", "3.11", "3.12", "3.13")
TARGETS = ("emu", "sim", "stock")
PARALLEL = ("--numprocesses", "logical", "--maxprocesses", "4", "--dist", "worksteal")
VERSIONS = """
import importlib.metadata as m, json, platform
print(json.dumps([platform.python_version(), *(m.version(name) for name in ("torch", "numpy", "lava-nc"))]))
"""
HEAD = (
    "| Python | torch | numpy | lava-nc | tests: passed, skipped, failed | hw_tests: emu | sim | stock | seconds | when, commit |\n|"
    + "---|" * 10
)


@dataclass(frozen=True)
class Outcome:
    """What one run of pytest reported; `failed` is None if it did not finish."""

    passed: int = 0
    skipped: int = 0
    failed: int | None = None

    @property
    def good(self) -> bool:
        return self.failed == 0 and self.passed > 0

    def __str__(self) -> str:
        return "did not finish" if self.failed is None else f"{self.passed}, {self.skipped}, {self.failed}"


def read_outcome(path: Path) -> Outcome:
    """Read the counts from pytest's JUnit file; if it is missing or truncated, the run did not finish."""
    try:
        suites = ElementTree.parse(path).getroot().iter("testsuite")
        counts = [[int(suite.get(key, 0)) for key in ("tests", "skipped", "failures", "errors")] for suite in suites]
    except (OSError, ElementTree.ParseError):
        return Outcome()
    tests, skipped, failures, errors = (sum(column) for column in zip(*counts, strict=True))
    return Outcome(passed=tests - skipped - failures - errors, skipped=skipped, failed=failures + errors)


def find(series: str) -> str | None:
    """Find an interpreter of that series; the one in .venv counts."""
    done = subprocess.run([ROOT / ".ci/with-python", "--find", series], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def in_environment(python: str, series: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` in the environment of that series: .venv if it matches, otherwise .venv-SERIES."""
    default = f"{sys.version_info[0]}.{sys.version_info[1]}" == series and Path(sys.prefix).resolve() == ROOT / ".venv"
    environment = {**os.environ, "PYTHON": "" if default else python}
    return subprocess.run([ROOT / ".ci/with-python", *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)


def pytest_outcome(python: str, series: str, *arguments: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        done = in_environment(python, series, "-m", "pytest", f"--junitxml={report}", *arguments)
        outcome = read_outcome(report)
    if not outcome.good:
        print(done.stdout, file=sys.stderr)
    return outcome


def row(python: str, series: str) -> tuple[str, bool]:
    """Return one row of the table, and whether all its runs passed."""
    say(f"Python {series}: setting up")
    done = in_environment(python, series, "-c", VERSIONS)
    if done.returncode != 0:
        return f"| {series} | could not be set up |" + " |" * 8, False
    versions = json.loads(done.stdout.splitlines()[-1])
    began = time.monotonic()
    say(f"Python {series}: tests")
    outcomes = [pytest_outcome(python, series, *PARALLEL)]
    for target in TARGETS:
        say(f"Python {series}: hw_tests on {target}")
        outcomes.append(pytest_outcome(python, series, "hw_tests", "--target", target))
    when = f"{datetime.date.today():%d %b %Y}, {commit()}"
    cells = [*versions, *map(str, outcomes), f"{time.monotonic() - began:.0f}", when]
    return f"| {' | '.join(cells)} |", all(outcome.good for outcome in outcomes)


def commit() -> str:
    """The commit that is tested, abbreviated, with a + if files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "not in a repository"


def write(rows: dict[str, str], *, page: Path = PAGE) -> None:
    """Put the rows, by series, into the table between the two markers of the page; rows of other series stay."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    kept = {series: line for line in old.splitlines() for series in SERIES if line.startswith((f"| {series}.", f"| {series} "))}
    table = "\n".join([HEAD, *(line for _, line in sorted({**kept, **rows}.items()))])
    page.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


def say(text: str) -> None:
    print(f"fsnn-lava: {text}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("series", nargs="*", metavar="3.X", help=f"versions to test, out of {', '.join(SERIES)} (default: all)")
    parser.add_argument("--write", action="store_true", help="write the rows to docs/verified.md")
    args = parser.parse_args()
    if unknown := [series for series in args.series if series not in SERIES]:
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(SERIES)}")
    rows: dict[str, str] = {}
    good = True
    for series in args.series or SERIES:
        python = find(series)
        if python is None:
            say(f"Python {series} was not found")
            good = good and series not in args.series
            continue
        rows[series], fine = row(python, series)
        good = good and fine
    print("\n".join([HEAD, *rows.values()]))
    if args.write and rows:
        write(rows)
    return 0 if good and rows else 1


if __name__ == "__main__":
    sys.exit(main())
