"""Threads: how many to use, how soon idle ones sleep, and how a batch is shared among them.

Compiled functions release the GIL, so plain Python threads run them in parallel.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache

SPIN_COUNT = "10000"  # iterations an idle OpenMP thread spins before it sleeps; GNU's default, 300000, keeps a core busy for milliseconds


def let_idle_threads_sleep() -> None:
    """Make torch's idle threads release their cores quickly, unless the user chose otherwise. Call before torch is imported."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)


def set_thread_count(number: int) -> None:
    """Use `number` threads in torch and in compiled functions."""
    import torch

    torch.set_num_threads(number)
    os.environ["OMP_NUM_THREADS"] = str(number)


def thread_count() -> int:
    """Return the number of threads to use: the cores this process may run on, or OMP_NUM_THREADS if that is less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def over_samples(function: Callable[[int, int], object], samples: int, *, number: int | None = None, least: int = 1) -> None:
    """Call function(first, end) on this and other threads, on disjoint ranges that cover all samples.

    `number`: how many threads (default: thread_count()). `least`: how many samples make a call worthwhile; a range is shorter only if there
    would otherwise be too few for all threads.
    """
    number = thread_count() if number is None else number
    chunk = max(1, min(16, samples // (4 * number)), min(least, -(-samples // number)))
    ranges = [(first, min(first + chunk, samples)) for first in range(0, samples, chunk)]
    if number == 1 or len(ranges) <= 1:
        function(0, samples)
        return
    remaining = iter(ranges)  # shared between threads: the GIL makes taking the next range atomic

    def work() -> None:
        try:
            for first, end in remaining:
                function(first, end)
        except BaseException:
            list(remaining)  # exhaust it, so that after an error or an interrupt no thread starts another range
            raise

    others = min(number, len(ranges)) - 1
    futures = [_pool(os.getpid(), others).submit(work) for _ in range(others)]
    try:
        work()
        for future in futures:
            future.result()
    except BaseException:
        wait(futures)
        raise


@lru_cache(maxsize=1)
def _pool(process: int, number: int) -> ThreadPoolExecutor:
    """Return a pool of `number` threads, cached per process, since a forked process has none of its parent's threads."""
    return ThreadPoolExecutor(number, thread_name_prefix=f"fsnn-lava-{process}")
