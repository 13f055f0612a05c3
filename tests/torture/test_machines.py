"""Poor machines: the embedded network still runs on the emulator, or the command says in one sentence why not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fsnn_lava.models import find
from tests.torture.originals import ROOT

RUN = [sys.executable, "-m", "fsnn_lava.cli.run", "--backend", "emu", "--limit", "4", "--no-compare"]


def run(*arguments: str, before: list[str] | None = None, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([*(before or []), *RUN, *arguments], cwd=cwd, capture_output=True, text=True, errors="replace", env=variables)


def assert_ran(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def test_without_a_gpu_in_the_c_locale_with_an_odd_path_on_one_core(tmp_path):
    folder = tmp_path / "Größe mit Leerzeichen"
    folder.mkdir()
    shutil.copy(find("digits"), folder / "Netz ä.h5")
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if shutil.which("taskset") else []
    done = run("Netz ä.h5", "--data", "digits", "--out", "Lauf ö.h5", before=one_core, cwd=folder, CUDA_VISIBLE_DEVICES="", LC_ALL="C")
    assert_ran(done)
    assert (folder / "Lauf ö.h5").is_file()


def test_with_a_home_and_a_numba_cache_that_cannot_be_written(tmp_path):
    home = tmp_path / "home"
    home.write_text("not a folder: nothing can be written below it")
    assert_ran(run(HOME=str(home), NUMBA_CACHE_DIR=str(home), XDG_CACHE_HOME=str(home), MPLCONFIGDIR=str(home)))


def test_with_stdout_closed():
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *RUN], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2), done.stderr


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit is not installed")
def test_in_two_gigabytes_it_runs_or_says_why():
    done = run(before=["prlimit", f"--as={2 * 2**30}"], OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2), done.stderr


def test_without_compiled_kernels_it_says_why_instead_of_overflowing():
    done = run(NUMBA_DISABLE_JIT="1")
    assert done.returncode == 3
    assert "NUMBA_DISABLE_JIT is set" in done.stderr
    assert "Traceback" not in done.stderr
