"""A copy of the package in which one thing at a time is broken, and children that show it to tests."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.torture.mutants import Mutant, broken

ROOT = Path(__file__).parent.parent.parent
NEEDED = ("fsnn_lava", "tests", "hw_tests", "train", "setup.cfg", "pyproject.toml", "examples")
QUICK = 4.0  # seconds: the fastest tests of a line, which are asked first
COMPUTING = 240  # seconds of computing that the tests of one change may take
WAIT = 1800  # seconds by the clock
WATCH = "[run]\nsource = fsnn_lava\ndynamic_context = test_function\ndata_file = {}\n"
EMULATOR = "tests/backends/emulator/test_run.py"
BITS = f"{EMULATOR}::test_every_bit_equals_the_plain_reference"
SILENT = f"{EMULATOR}::test_where_most_neurons_fire_the_silent_ones_are_counted_with_the_same_bits"
SCATTERED = f"{EMULATOR}::test_scattering_to_any_number_of_channels_gives_the_matrix_product"
FEW = [f"{BITS}[0]", f"{BITS}[1]", f"{SILENT}[0]"]
FLOATS = "tests/nn/test_event_simulation.py"
SCATTER, ROWS = "tests/compiled/test_scatter.py", "tests/compiled/test_row_sums.py"
DELTA = "tests/backends/emulator/test_delta.py"
MESSAGES = f"{DELTA}::test_random_networks_run_as_the_naive_simulator_says"
LAYOUTS = ["tests/nn/test_event_layout.py", "tests/backends/emulator/test_layout.py"]
ARITHMETIC = ["tests/compiled/test_arithmetic.py", "tests/ir/test_input_current.py"]
# Compiled lines cannot be watched, and compiling takes longest: for these files the tests are chosen by hand, round after round.
COMPILED = {
    "compiled/patches.py": [[f"{SCATTERED}[7]"], FEW, [EMULATOR, FLOATS]],
    "compiled/scatter.py": [[SCATTER, f"{SCATTERED}[7]", f"{SCATTERED}[100]"], FEW, [EMULATOR, FLOATS]],
    "compiled/row_": [[ROWS, f"{SCATTERED}[63]", f"{SCATTERED}[100]"], FEW, [EMULATOR, FLOATS]],
    "compiled/float_run.py": [[ROWS, *LAYOUTS, FLOATS]],
    "compiled/arithmetic.py": [ARITHMETIC, FEW, [EMULATOR]],
    "compiled/atrlif.py": [["tests/compiled/test_atrlif.py"], [EMULATOR]],
    "compiled/convolution.py": [ARITHMETIC, FEW, [EMULATOR]],
    "compiled/delta_run.py": [[f"{MESSAGES}[0]", f"{MESSAGES}[1]"], [DELTA]],
    "compiled/norm_bound.py": [["tests/compiled/test_norm_bound.py"], ["tests/solvers/test_lanczos_norm.py"]],
    "compiled/residual_bounds.py": [["tests/compiled/test_residual_bounds.py"]],
    "compiled/weighted_sums.py": [["tests/compiled/test_weighted_sums.py"]],
    "compiled/": [[f"{BITS}[0]"], FEW[1:], [EMULATOR]],
    "backends/emulator/layout.py": [[*LAYOUTS, f"{BITS}[0]"], FEW[1:], [EMULATOR]],
    "backends/emulator/delta.py": [[f"{MESSAGES}[0]", f"{MESSAGES}[1]"], [DELTA]],
    "backends/emulator/": [[f"{BITS}[0]"], FEW[1:], [EMULATOR]],
    "ir/input_current.py": [ARITHMETIC, FEW, [EMULATOR]],
}


class Laboratory:
    """The copy, and which tests run which line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in () if (folder / "fsnn_lava").exists() else NEEDED:
            copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            ignored = {"ignore": shutil.ignore_patterns("__pycache__", "*.ipynb")} if copied is shutil.copytree else {}
            copied(ROOT / name, folder / name, **ignored)  # type: ignore[operator]
        self.package = folder / "fsnn_lava"
        os.environ.update(PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(folder), OMP_NUM_THREADS="1")
        os.environ.pop("NUMBA_CACHE_DIR", None)  # our own cache knows the state of the sources
        self.lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.seconds: dict[str, float] = {}  # of each test, on the unbroken copy

    def watch(self, names: Iterable[str]) -> bool:
        """Run the tests on the unbroken copy, and note which lines each of them runs; whether all passed."""
        settings, data, times = (self.folder / name for name in ("coverage.rc", ".coverage", "times.xml"))
        if not times.exists():
            settings.write_text(WATCH.format(data))
            options = ["-q", "-x", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", f"--junitxml={times}"]
            command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", *options]
            done = subprocess.run([*command, *names], cwd=self.folder, capture_output=True, text=True)
            if done.returncode:
                times.unlink(missing_ok=True)
                print(done.stdout[-3000:], done.stderr[-1000:], file=sys.stderr)
                return False
        self._note(data, times)
        return True

    def _note(self, data: Path, times: Path) -> None:
        import coverage

        found = coverage.CoverageData(str(data))
        found.read()
        for file in found.measured_files():
            name = str(Path(file).relative_to(self.package))
            for line, contexts in found.contexts_by_lineno(file).items():
                self.lines[name][line] = {_node(context) for context in contexts if context}
        for case in ElementTree.parse(times).iter("testcase"):
            node = _node(f"{case.get('classname')}.{str(case.get('name')).partition('[')[0]}")
            self.seconds[node] = self.seconds.get(node, 0.0) + float(case.get("time", 0.0))

    def rounds(self, mutant: Mutant, patience: float) -> list[list[str]]:
        """Tests that could notice, those to be asked first before the others; of watched ones `patience` seconds."""
        for start, rounds in COMPILED.items():
            if mutant.file.startswith(start):
                return rounds[:2] if 0 < patience <= QUICK else rounds
        lines = self.lines.get(mutant.file, {})
        found = lines.get(mutant.line, set()) or (set().union(*lines.values()) if lines else set())  # one that runs on import: the file's
        tests = sorted((test for test in found if test), key=lambda test: (self.seconds.get(test, 1.0), test))
        tests = self._fast(tests, patience) if patience else tests
        quick = self._fast(tests, QUICK)
        return [part for part in (quick, tests[len(quick) :]) if part]

    def _fast(self, tests: list[str], most: float) -> list[str]:
        """The fastest of the tests, as many as take so many seconds together, at least one."""
        ends = accumulate(self.seconds.get(test, 1.0) for test in tests)
        return tests[: max(1, sum(end <= most for end in ends))]

    def show(self, mutant: Mutant, rounds: list[list[str]]) -> tuple[str, str]:
        """Break the copy, run the tests, restore it: "noticed" or "hung or crashed" and the test that did; or "survived"."""
        with self._broken(mutant):
            for tests in rounds:
                code, last = _in_child(self.folder, tests)
                if code:
                    return ("noticed" if code > 0 else "hung or crashed"), last or tests[0]  # not even begun: they cannot be loaded
        return "survived", ""

    def sound(self, tests: Iterable[str]) -> bool:
        """Whether these tests are there, and pass as long as nothing is broken."""
        wanted, passed = sorted(set(tests)), self.folder / "passed"
        before = set(passed.read_text().splitlines()) if passed.exists() else set()
        if set(wanted) <= before:
            return True
        code, last = _in_child(self.folder, wanted)
        if code == 0:
            passed.write_text("\n".join(sorted(before | set(wanted))))
        else:
            print(f"fails on the unbroken package, or is not there: {last}", file=sys.stderr)
        return code == 0

    @contextlib.contextmanager
    def _broken(self, mutant: Mutant) -> Iterator[None]:
        path = self.package / mutant.file
        stat, content = path.stat(), path.read_bytes()
        before = self._machine_code()
        path.write_text(broken(path, mutant.number))
        try:
            yield
        finally:
            path.write_bytes(content)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            for made in self._machine_code() - before:
                if mutant.file.startswith("compiled/"):  # else it is that of the unbroken package: keep it
                    shutil.rmtree(made)

    def _machine_code(self) -> set[Path]:
        return set((self.package / "__pycache__").glob("compiled-*"))


class LastTest:
    """Notes each test that begins: the last one noted is the one that failed, hung or crashed. Without tests it is the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_text("")

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.path.write_text(nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.path.write_text(report.nodeid)


def _node(context: str) -> str:
    """ "tests.quantisation.test_fold.test_bias" → "tests/quantisation/test_fold.py::test_bias" """
    module, _, function = context.rpartition(".")
    return f"{module.replace('.', '/')}.py::{function}"


def _in_child(folder: Path, tests: list[str]) -> tuple[int, str]:
    """Exit code of the tests in a process that has the large libraries already, and the last test; not 0 if it hung or crashed."""
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

            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
            os._exit(int(pytest.main([*options, *tests], plugins=[LastTest(folder / "last test")])))
        finally:
            os._exit(99)
    code, end = -1, time.monotonic() + WAIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.05)
    _end_group(child)
    if code == -1:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
    return code, (folder / "last test").read_text()


def _end_group(child: int) -> None:
    """The child and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
