"""Compile for the machine, once, and use all its cores.

Machine code is cached on disk where somebody may write, else kept for this process only. Cores are used by plain threads around
compiled functions that let go of the interpreter: no second thread runtime that could quarrel with torch's or with a fork.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """numba's njit without fast-math, so that integers and floats come out the same on every machine."""
    return cast(Function, numba.njit(cache=_cache(), nogil=True)(function))


def threads() -> int:
    """How many threads to use: the cores this process may run on, fewer if OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def over_samples(function: Callable[[int, int], object], samples: int, *, number: int | None = None) -> None:
    """Call function(first, end) until every sample is done, on all threads. `function` writes each sample's results to its own place."""
    number = threads() if number is None else number
    chunk = max(1, min(16, samples // (4 * number)))
    pieces = [(first, min(first + chunk, samples)) for first in range(0, samples, chunk)]
    if number == 1 or len(pieces) <= 1:
        function(0, samples)
        return
    with ThreadPoolExecutor(number) as pool:
        for future in [pool.submit(function, *piece) for piece in pieces]:
            future.result()


@lru_cache(maxsize=1)
def _cache() -> bool:
    """Is there a folder for machine code? The package's own if it can be written to, else the user's, else a temporary one."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    if os.access(Path(__file__).parent, os.W_OK):
        return True
    for parent in (os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache"), tempfile.gettempdir()):
        folder = Path(parent or ".") / f"fsnn-lava-{os.getuid()}"
        if parent and _writable(folder):
            numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
            return True
    return False


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid()
