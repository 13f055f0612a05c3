"""Threads: how many to use, how soon idle ones sleep, and sharing a batch among them.

Compiled functions release the GIL, so plain Python threads run them in parallel. Where torch uses GNU OpenMP and its idle threads
sleep soon, as in the commands, its team is used instead of a pool: right after a torch operation its threads are still awake.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

SPIN_COUNT = "10000"  # turns an idle OpenMP thread spins before it sleeps; GNU's default, 300000, keeps a core busy for milliseconds
_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_PROCESS = os.getpid()


def _threads_of_this_process() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:  # not Linux
        return 1


# torch is loaded but there is only one thread: this process was forked from one that loaded torch, and has none of torch's threads
_FORKED_AFTER_TORCH = "torch" in sys.modules and _threads_of_this_process() == 1


def let_idle_threads_sleep() -> None:
    """Make torch's idle threads release their core soon, unless the user chose otherwise. Call before torch is imported."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)


def set_thread_count(number: int) -> None:
    """Use `number` threads in torch and in compiled functions."""
    import torch

    torch.set_num_threads(number)
    os.environ["OMP_NUM_THREADS"] = str(number)


def thread_count() -> int:
    """The cores this process may run on, or OMP_NUM_THREADS if that is less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def over_samples(function: Callable[[int, int], object], samples: int, *, number: int | None = None, least: int = 1) -> None:
    """Call function(first, end) on disjoint ranges that cover all samples, on this thread and others.

    `number` of threads (default: thread_count()); `least` samples make a call worthwhile: a range is shorter only where the samples
    would not suffice for all threads otherwise.
    """
    number = thread_count() if number is None else number
    chunk = max(1, min(16, samples // (4 * number)), min(least, -(-samples // number)))
    ranges = [(first, min(first + chunk, samples)) for first in range(0, samples, chunk)]
    if number == 1 or len(ranges) <= 1:
        function(0, samples)
        return
    remaining = iter(ranges)  # shared: the GIL makes taking the next range atomic

    def work() -> None:
        try:
            for first, end in remaining:
                function(first, end)
        except BaseException:
            list(remaining)  # exhaust it: after an error or an interrupt no thread starts another range
            raise

    team = _openmp_team() if "torch" in sys.modules and os.getpid() == _PROCESS else None
    if team is None:
        _run_in_pool(work, min(number, len(ranges)))
    else:
        _run_in_team(team, work, min(number, len(ranges)))


def _run_in_team(team: Callable[..., None], work: Callable[[], None], number: int) -> None:
    """Call `work` on `number` of torch's threads, this one included."""
    errors: list[BaseException] = []

    def body(_: object) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    team(_BODY(body), None, number, 0)
    if errors:
        raise errors.pop(0)
    work()  # ranges are left only if an interrupt arrived before a body began


def _run_in_pool(work: Callable[[], None], number: int) -> None:
    """Call `work` on this thread and on `number` - 1 threads of our own."""
    futures = [_pool(os.getpid(), number - 1).submit(work) for _ in range(number - 1)]
    try:
        work()
        for future in futures:
            future.result()
    except BaseException:
        wait(futures)
        raise


@lru_cache(maxsize=1)
def _pool(process: int, number: int) -> ThreadPoolExecutor:
    """Keyed by process: a forked one has none of its parent's threads."""
    return ThreadPoolExecutor(number, thread_name_prefix=f"fsnn-lava-{process}")


@lru_cache(maxsize=1)
def _openmp_team() -> Callable[..., None] | None:
    """GNU OpenMP's GOMP_parallel from the library that torch loaded; None where the pool must be used.

    That is where torch uses another OpenMP; where its idle threads spin for milliseconds, since on a busy machine every call would wait
    for a core that way; and in a process forked after torch was loaded, whose OpenMP waits for threads that do not exist.
    """
    if _FORKED_AFTER_TORCH or not any(os.environ.get(name) for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")):
        return None
    call = _gomp_parallel()
    if call is None:
        return None
    call.argtypes, call.restype = [_BODY, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
    return cast("Callable[..., None]", call)


def _gomp_parallel() -> Any:
    """The function in torch's copy of libgomp, or None."""
    folders = [Path(path).parent for path in getattr(sys.modules.get("torch"), "__path__", [])]
    found = [path for folder in folders for path in (*folder.glob("torch/lib/libgomp*.so*"), *folder.glob("torch.libs/libgomp*.so*"))]
    try:
        return ctypes.CDLL(str(found[0])).GOMP_parallel
    except (IndexError, OSError, AttributeError):
        return None
