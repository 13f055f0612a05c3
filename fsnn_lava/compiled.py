"""Compile for the machine, once, and use all its cores.

Machine code is cached on disk where somebody may write, else kept for this process only. Cores are used by plain threads around
compiled functions that let go of the interpreter: no second thread runtime that could quarrel with torch's or with a fork.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from fsnn_lava.errors import BackendMissing

SHARED = ("compiled.py", "krylov.py", "chip/arithmetic.py", "chip/limits.py", "chip/drive.py")  # compiled into functions of other files
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, *, reorder: bool = False) -> Function:
    """numba's njit without fast-math, so that integers and floats come out the same on every machine.

    `reorder`: sums of floats may be taken in the order that suits the machine's vectors.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise BackendMissing("NUMBA_DISABLE_JIT is set, but uncompiled kernels would add in 8 bits and overflow: unset it")
    return cast(Function, numba.njit(cache=_cache(), nogil=True, fastmath={"reassoc"} if reorder else False)(function))


def threads() -> int:
    """How many threads to use: the cores this process may run on, fewer if OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def over_samples(function: Callable[[int, int], object], samples: int, *, number: int | None = None, least: int = 1) -> None:
    """Call function(first, end) until every sample is done, on this thread and others; it writes each sample's results to its own place.

    `least`: so many samples are worth a call; with all of them each thread is called once.
    """
    number = threads() if number is None else number
    chunk = max(1, min(16, samples // (4 * number)), min(least, -(-samples // number)))
    pieces = [(first, min(first + chunk, samples)) for first in range(0, samples, chunk)]
    if number == 1 or len(pieces) <= 1:
        function(0, samples)
        return
    left = iter(pieces)  # taken one by one by whoever is free; the interpreter lets one thread at a time have the next

    def work() -> None:
        for piece in left:
            function(*piece)

    futures = [_pool(os.getpid(), number - 1).submit(work) for _ in range(min(number, len(pieces)) - 1)]
    try:
        work()
        for future in futures:
            future.result()
    except BaseException:
        for _ in left:
            pass  # nobody begins another one, if one failed or we were interrupted
        wait(futures)
        raise


@lru_cache(maxsize=1)
def _pool(process: int, number: int) -> ThreadPoolExecutor:
    """Threads of this process: a forked one has none of its parent's."""
    return ThreadPoolExecutor(number, thread_name_prefix=f"fsnn-lava-{process}")


@lru_cache(maxsize=1)
def _cache() -> bool:
    """Is there a folder for machine code? In the package if it can be written to, else the user's, else a temporary one.

    It is named after the state of our sources: numba itself would not notice that a function called from another file has changed.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    package = Path(__file__).parent
    sources = sorted([*package.glob("emulator/*.py"), *(package / name for name in SHARED)])
    state = [(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sources]
    name = f"compiled-{hashlib.sha256(repr(state).encode()).hexdigest()[:12]}"
    user = f"fsnn-lava-{os.getuid()}"
    parents = [package / "__pycache__", *(Path(p) / user for p in (os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache")) if p)]
    for parent in (*parents, Path(tempfile.gettempdir()) / user):
        if _writable(parent / name):
            numba.config.CACHE_DIR = str(parent / name)  # type: ignore[attr-defined]
            return True
    return False


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid()
