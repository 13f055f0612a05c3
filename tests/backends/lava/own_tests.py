"""Run Lava's own tests of what we use, with our fixes in place, and print how many pass: python -m tests.backends.lava.own_tests [FOLDER …]

lava-nc installs its tests as the package `tests` beside `lava`. Our set-up removes them, so they are unpacked from the pinned wheel again,
into a temporary folder. Every file runs in a session of its own, outside this repository, and nothing of it is left afterwards: a test of
Lava's that fails may leave processes behind that wait for ever.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np

FOLDERS = (
    *(f"proc/{name}" for name in ("lif", "dense", "conv", "sparse", "atrlif", "sdn", "io")),
    *(f"magma/{name}" for name in ("core", "compiler", "runtime")),
)
ROOT = Path(__file__).parents[3]
PIN = ROOT / "fsnn_lava" / "backends" / "lava" / "pins" / "lava-nc.txt"
TEST_SECONDS, FILE_SECONDS = 120, 900
KINDS = ("passed", "skipped", "failed")


def main(folders: list[str]) -> int:
    if importlib.util.find_spec("lava") is None:
        sys.exit("lava-nc is not installed: run fsnn-doctor --install-lava")
    with tempfile.TemporaryDirectory() as wheel:
        return run_folders(unpacked_tests(Path(wheel)), folders or list(FOLDERS))


def unpacked_tests(folder: Path) -> Path:
    """Unpack the pinned wheel into `folder`, and return where its tests are."""
    unpack = ["pip", "install", "-q", "--no-deps", "--ignore-requires-python", "--require-hashes", "--target", str(folder), "-r", str(PIN)]
    subprocess.run([sys.executable, "-m", *unpack], check=True)
    return folder / "tests" / "lava"


def run_folders(tests: Path, folders: list[str]) -> int:
    """Run the tests of these folders and return the exit code: 1 if one fails. A folder without tests ends it with a sentence."""
    totals = dict.fromkeys(KINDS, 0)
    for folder in folders:
        counts = dict.fromkeys(KINDS, 0)
        files = sorted((tests / folder).rglob("test_*.py"))
        if not files:
            sys.exit(f"there are no tests in {folder} of lava-nc")
        for file in files:
            for kind, case, reason in run_file(file):
                counts[kind] += 1
                if kind == "failed":
                    print(f"  {file.relative_to(tests)} {case}: {reason}", flush=True)
        print(f"{folder:<20}" + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS), flush=True)
        totals = {kind: totals[kind] + counts[kind] for kind in KINDS}
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    print(f"{versions}: " + ", ".join(f"{totals[kind]} {kind}" for kind in KINDS))
    return 1 if totals["failed"] else 0


def run_file(file: Path) -> Iterator[tuple[str, str, str]]:
    """(passed | skipped | failed, name, why) of every test in it."""
    with tempfile.TemporaryDirectory() as empty:
        report = Path(empty) / "report.xml"
        options = ["-p", "fsnn_lava", "-p", "no:cacheprovider", "-q", f"--timeout={TEST_SECONDS}", f"--junit-xml={report}"]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, str(file)],
            cwd=empty,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + FILE_SECONDS
        while process.poll() is None and not report.is_file() and time.monotonic() < deadline:
            time.sleep(0.2)
        with contextlib.suppress(subprocess.TimeoutExpired):  # having written the report, pytest would wait for lost processes for ever
            process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        if not report.is_file():
            yield "failed", "the whole file", f"no report within {FILE_SECONDS} s"
            return
        yield from _outcomes(report)


def _outcomes(report: Path) -> Iterator[tuple[str, str, str]]:
    for case in ET.parse(report).iter("testcase"):
        wrong = next((child for child in case if child.tag in ("failure", "error")), None)
        if wrong is not None:
            yield "failed", str(case.get("name")), str(wrong.get("message")).split("\n")[0]
        else:
            yield "skipped" if case.find("skipped") is not None else "passed", str(case.get("name")), ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
