"""Poor machines, each as a way to start a command: what stands before it, which variables it gets, or why that cannot be had here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
/* Every look at the wall clock finds it 30 years on, or back. The clock that only counts up is left alone, as the kernel would. */
static long jump(void) { static long looks; return looks++ % 2 ? 946080000L : 0; }
int clock_gettime(clockid_t id, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, t);
    if (!code && id == CLOCK_REALTIME) t->tv_sec += jump();
    return code;
}
time_t time(time_t *t) { struct timespec now; clock_gettime(CLOCK_REALTIME, &now); if (t) *t = now.tv_sec; return now.tv_sec; }
"""
NO_AVX = {
    "NUMBA_CPU_NAME": "x86-64",
    "NUMBA_CPU_FEATURES": "",
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "OPENBLAS_CORETYPE": "Nehalem",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-AVX_Fast_Unaligned_Load",
}


@dataclass(frozen=True)
class Machine:
    """How a command is started on it. `missing` says why it cannot be had here."""

    before: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    missing: str = ""
    backend: str = "emu"


def one_core(folder: Path) -> Machine:
    found = shutil.which("taskset")
    return Machine(("taskset", "-c", str(min(os.sched_getaffinity(0)))), missing="" if found else "taskset is not installed")


def no_gpu_in_the_c_locale(folder: Path) -> Machine:
    return Machine(environment={"CUDA_VISIBLE_DEVICES": "", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})


def german(folder: Path) -> Machine:
    """Comma for the decimal point, set for the process as a program with windows would."""
    return _german(folder, "UTF-8")


def german_latin_1(folder: Path) -> Machine:
    """The same, and a terminal of 256 letters."""
    return _german(folder, "ISO-8859-1")


def _german(folder: Path, letters: str) -> Machine:
    if shutil.which("localedef") is None:
        return Machine(missing="localedef is not installed")
    name = f"de_DE.{letters}"
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", letters, str(folder / name)], capture_output=True, text=True)
    if not (folder / name).exists():
        return Machine(missing=f"localedef makes no German locale here: {made.stderr.strip()[:100]}")
    (folder / "sitecustomize.py").write_text("import locale\nlocale.setlocale(locale.LC_ALL, '')\nassert locale.str(0.5) == '0,5'\n")
    return Machine(environment={"LOCPATH": str(folder), "LC_ALL": name, "LANG": name, "PYTHONPATH": str(folder)})


def no_avx(folder: Path) -> Machine:
    """The libraries are told not to use it: numba, torch, numpy, BLAS, the C library."""
    import numpy

    core = getattr(numpy, "_core", None) or numpy.core
    used = [name for name in core._multiarray_umath.__cpu_dispatch__ if core._multiarray_umath.__cpu_features__.get(name)]
    return Machine(environment={**NO_AVX, "NPY_DISABLE_CPU_FEATURES": " ".join(used), "NUMBA_CACHE_DIR": str(folder)})


def two_gigabytes(folder: Path) -> Machine:
    few = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return Machine(("prlimit", f"--as={2 * 2**30}"), few, missing="" if shutil.which("prlimit") else "prlimit is not installed")


def half_a_gigabyte(folder: Path) -> Machine:
    return Machine(("prlimit", f"--as={2**29}"), missing="" if shutil.which("prlimit") else "prlimit is not installed")


def _without_shared_memory(folder: Path, backend: str) -> Machine:
    before = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro,size=4k none /dev/shm && exec "$@"', "sh")
    tried = subprocess.run([*before, "true"], capture_output=True, text=True) if shutil.which("unshare") else None
    missing = "unshare is not installed" if tried is None else tried.stderr.strip()
    return Machine(before, missing=f"no file system can be mounted: {missing}" if missing else "", backend=backend)


def no_shared_memory(folder: Path) -> Machine:
    return _without_shared_memory(folder, "emu")


def no_shared_memory_for_lava(folder: Path) -> Machine:
    return _without_shared_memory(folder, "sim")


def a_jumping_clock(folder: Path) -> Machine:
    if shutil.which("cc") is None:
        return Machine(missing="there is no C compiler")
    (folder / "clock.c").write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / "clock.so"), str(folder / "clock.c"), "-ldl"], check=True)
    return Machine(environment={"LD_PRELOAD": str(folder / "clock.so")})


def a_home_that_cannot_be_written(folder: Path) -> Machine:
    home = folder / "home"
    home.write_text("not a folder: nothing can be written below it")
    names = ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
    return Machine(environment=dict.fromkeys(names, str(home)))


def stdout_closed(folder: Path) -> Machine:
    return Machine(("sh", "-c", 'exec "$@" >&-', "sh"))


def stdout_full(folder: Path) -> Machine:
    return Machine(("sh", "-c", 'exec "$@" >/dev/full', "sh"), missing="" if Path("/dev/full").exists() else "there is no /dev/full")


def both_outputs_closed(folder: Path) -> Machine:
    return Machine(("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"))


MACHINES: list[Callable[[Path], Machine]] = [
    one_core,
    no_gpu_in_the_c_locale,
    german,
    german_latin_1,
    no_avx,
    two_gigabytes,
    half_a_gigabyte,
    no_shared_memory,
    no_shared_memory_for_lava,
    a_jumping_clock,
    a_home_that_cannot_be_written,
    stdout_closed,
    stdout_full,
    both_outputs_closed,
]


FEW = [german_latin_1, two_gigabytes, no_shared_memory_for_lava, a_jumping_clock, stdout_full, both_outputs_closed]  # in `make test`


def start(machine: Machine, *arguments: str, root: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command of the package (first argument: its name) on that machine."""
    name, *rest = arguments
    paths = [path for path in (machine.environment.get("PYTHONPATH"), str(root)) if path]
    variables = {**os.environ, **machine.environment, "PYTHONPATH": os.pathsep.join(paths)}
    command = [*machine.before, sys.executable, "-m", f"fsnn_lava.cli.{name}", *rest]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", env=variables)
