"""Are the tests able to fail? Wrong changes to the integer arithmetic, the emulator and the comparator, in a copy of the package.

python -m tests.torture.mutation --count 60     that many changes of each folder, drawn by a seed; prints those that no test noticed

A change is shown only to the tests that run its line (found out with coverage first), the fastest first; compiled lines cannot be watched
and are shown to the tests of the kernels. A test that fails, hangs or crashes has noticed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from random import Random
from xml.etree import ElementTree

from tests.torture.mutants import Mutant, mutants

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("chip", "emulator", "compare")
NEEDED = ("fsnn_lava", "tests", "train", "setup.cfg", "pyproject.toml", "examples")
TESTS = ["arithmetic", "emulator", "energy", "fold", "quantise", "placement", "stock", "rate_map", "fake_quantise", "map_command"]
TESTS += ["compare", "compare_faults", "compare_model", "compare_command", "compare_bounds", "event_simulation", "report"]
KERNELS = ["tests/test_arithmetic.py", "tests/test_emulator.py", "tests/test_event_simulation.py"]
QUICK = 4.0  # seconds: the fastest tests of a line, which are asked first
COMPUTING = 240  # seconds of computing that the tests of one change may take
WAIT = 1800  # seconds by the clock
WATCH = "[run]\nsource = fsnn_lava\ndynamic_context = test_function\ndata_file = {}\n"


@dataclass
class Outcome:
    """What became of a change: "noticed", "hung or crashed", "survived", or "not run" by any of the tests."""

    file: str
    text: str
    change: str
    mutant: str
    outcome: str
    tests: int
    seconds: float


class Laboratory:
    """A copy of the package in which things are broken, and which tests run which line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in () if (folder / "fsnn_lava").exists() else NEEDED:
            copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            ignored = {"ignore": shutil.ignore_patterns("__pycache__", "*.ipynb")} if copied is shutil.copytree else {}
            copied(ROOT / name, folder / name, **ignored)  # type: ignore[operator]
        os.environ.update(PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(folder), OMP_NUM_THREADS="1")
        os.environ.pop("NUMBA_CACHE_DIR", None)  # our own cache knows the state of the sources
        self.lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.seconds: dict[str, float] = {}  # of each test, on the unbroken copy

    def watch(self, names: Iterable[str]) -> bool:
        """Run the tests on the unbroken copy, and note which lines each of them runs; whether all passed."""
        settings, data, times = (self.folder / name for name in ("coverage.rc", ".coverage", "times.xml"))
        if data.exists():
            self._note(data, times)
            return True
        settings.write_text(WATCH.format(data))
        files = [f"tests/test_{name}.py" for name in names]
        command = [
            sys.executable,
            "-m",
            "coverage",
            "run",
            f"--rcfile={settings}",
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *files,
        ]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout[-3000:], done.stderr[-1000:], file=sys.stderr)
            return False
        self._note(data, times)
        return True

    def _note(self, data: Path, times: Path) -> None:
        import coverage

        found = coverage.CoverageData(str(data))
        found.read()
        for file in found.measured_files():
            name = str(Path(file).relative_to(self.folder / "fsnn_lava"))
            for line, contexts in found.contexts_by_lineno(file).items():
                self.lines[name][line] = {_node(context) for context in contexts if context}

        for case in ElementTree.parse(times).iter("testcase"):
            node = _node(f"{case.get('classname')}.{str(case.get('name')).partition('[')[0]}")
            self.seconds[node] = self.seconds.get(node, 0.0) + float(case.get("time", 0.0))

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Tests that run the line; of a line that is compiled, the tests of the kernels; of one that runs on import, those of the file."""
        lines = self.lines.get(mutant.file, {})
        tests = lines.get(mutant.line, set())
        if not tests and ("emulator/" in mutant.file or mutant.file in ("chip/arithmetic.py", "chip/drive.py")):
            return KERNELS
        found = tests or set().union(*lines.values()) if lines else tests
        return sorted(found, key=lambda test: self.seconds.get(test, 1.0))

    def drawn(self, folder: str, count: int, seed: int) -> list[Mutant]:
        """So many changes of a folder of the package, the same for the same seed and sources; what only draws pictures is left alone."""
        package = self.folder / "fsnn_lava"
        paths = sorted(path for path in (package / folder).rglob("*.py") if "report" not in path.parts)
        every = [mutant for path in paths for mutant in mutants(path, str(path.relative_to(package)))]
        return Random(f"{seed} {folder}").sample(every, min(count, len(every)))

    def _fast(self, tests: list[str], most: float) -> list[str]:
        """The fastest of the tests, as many as take so many seconds together, at least one."""
        ends = accumulate(self.seconds.get(test, 1.0) for test in tests)
        return tests[: max(1, sum(end <= most for end in ends))]

    def try_out(self, mutant: Mutant, patience: float) -> Outcome:
        """Break the copy, run the tests that could notice (the fastest, `patience` seconds of them), mend it again."""
        tests, began = self._fast(self.tests_of(mutant), patience) if patience else self.tests_of(mutant), time.monotonic()
        told = (mutant.file, mutant.text, mutant.change, str(mutant))
        if not tests or not tests[0]:
            return Outcome(*told, "not run", 0, 0.0)
        path = self.folder / "fsnn_lava" / mutant.file
        stat, content = path.stat(), path.read_bytes()
        path.write_text(mutant.source)
        try:
            quick = self._fast(tests, QUICK)
            code = _in_child(self.folder, quick)
            if code == 0 and len(quick) < len(tests):
                code = _in_child(self.folder, tests[len(quick) :])
        finally:
            path.write_bytes(content)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        outcome = "survived" if code == 0 else "noticed" if code > 0 else "hung or crashed"
        return Outcome(*told, outcome, len(tests), round(time.monotonic() - began, 1))


def _node(context: str) -> str:
    """ "tests.test_fold.test_bias" → "tests/test_fold.py::test_bias" """
    module, _, function = context.rpartition(".")
    return f"{module.replace('.', '/')}.py::{function}"


def _in_child(folder: Path, tests: list[str]) -> int:
    """Exit code of the tests in a process that has the large libraries already; other than 0 if it hung or crashed, too."""
    child = os.fork()
    if child == 0:
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (COMPUTING, COMPUTING))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.chdir(folder)
            sys.dont_write_bytecode = True
            for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "fsnn_lava", "deploy")]:
                del sys.modules[name]
            sys.path[:] = [str(folder), *(path for path in sys.path if path not in ("", str(ROOT)))]
            import pytest

            os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests])))
        finally:
            os._exit(99)
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end_group(child)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    _end_group(child)
    os.waitpid(child, 0)
    return -1


def _end_group(child: int) -> None:
    """The child and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def explained() -> list[dict[str, str]]:
    """Changes that no test can notice, because they change nothing that matters, and why."""
    return json.loads((Path(__file__).parent / "equivalent.json").read_text())


def explanation(outcome: Outcome) -> str:
    """Why it is no wonder that nothing noticed; "" if nobody has found out."""
    same = (entry for entry in explained() if all(entry[key] == getattr(outcome, key) for key in ("file", "text", "change")))
    return next((entry["why"] for entry in same), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="changes of each folder (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folders", nargs="+", default=list(FOLDERS), choices=FOLDERS)
    parser.add_argument("--file", default="", help="only changes of files whose name holds this")
    parser.add_argument("--patience", type=float, default=0.0, help="seconds of tests that a change is shown to (default: all of them)")
    parser.add_argument("--laboratory", type=Path, help="folder for the copy, kept; what was watched there before is not watched again")
    parser.add_argument("--json", type=Path, help="write what became of every change here")
    args = parser.parse_args()
    if importlib.util.find_spec("coverage") is None:
        print("the lines that a test runs are found with coverage, which is not installed: pip install coverage")
        return 2
    import h5py  # noqa: F401  (loaded once, for all children)
    import hypothesis  # noqa: F401
    import matplotlib  # noqa: F401
    import numba  # noqa: F401
    import torch  # noqa: F401

    with tempfile.TemporaryDirectory() as name:
        laboratory = Laboratory((args.laboratory or Path(name)).resolve())
        if not laboratory.watch(TESTS):
            print("the tests fail on the unbroken package: nothing to find out")
            return 2
        outcomes: list[Outcome] = []
        for folder in args.folders:
            for mutant in laboratory.drawn(folder, args.count, args.seed):
                if args.file in mutant.file:
                    outcomes.append(laboratory.try_out(mutant, args.patience))
                    last = outcomes[-1]
                    print(f"{last.outcome:15} {last.seconds:5.1f} s {last.tests:3} tests  {last.mutant}", flush=True)
                    if args.json:
                        args.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1, ensure_ascii=False))
    left = [one for one in outcomes if one.outcome in ("survived", "not run")]
    unexplained = [one for one in left if not explanation(one)]
    noticed = len(outcomes) - len(left)
    print(f"{len(outcomes)} changes, {noticed} noticed, {len(left) - len(unexplained)} explained, {len(unexplained)} unexplained")
    for one in unexplained:
        print(f"    {one.outcome}: {one.mutant}")
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
