"""Compile for the machine, once, and use all its cores.

Machine code is cached on disk where somebody may write, else kept for this process only. Cores are used by threads around compiled
functions that let go of the interpreter. They are torch's own where these can be had and were told not to stay awake for long, as the
commands do: awake after a product, they begin at once, where others would wait for their core. Elsewhere they are plain ones.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

from fsnn_lava.errors import BackendMissing

if TYPE_CHECKING:
    from torch import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])
_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_PROCESS = os.getpid()


def _threads_here() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:  # not Linux
        return 1


# A process that was forked after torch was loaded has one thread; another one has those of numpy as well.
_OWN_TORCH = "torch" not in sys.modules or _threads_here() > 1


def compiled(function: Function, *, reorder: bool = False) -> Function:
    """numba's njit without fast-math, so that integers and floats come out the same on every machine.

    `reorder`: sums of floats may be taken in the order that suits the machine's vectors.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise BackendMissing("NUMBA_DISABLE_JIT is set, but uncompiled kernels would add in 8 bits and overflow: unset it")
    return cast(Function, numba.njit(cache=_cache(), nogil=True, fastmath={"reassoc"} if reorder else False)(function))


def compilable(values: Tensor) -> bool:
    """Whether compiled functions take these numbers: those that numba knows, side by side in the CPU's memory."""
    return values.device.type == "cpu" and str(values.dtype) in ("torch.float32", "torch.float64") and values.is_contiguous()


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
        try:
            for piece in left:
                function(*piece)
        except BaseException:
            list(left)  # used up: nobody begins another one, if one failed or we were interrupted
            raise

    team = _team() if "torch" in sys.modules and os.getpid() == _PROCESS else None
    if team is None:
        _in_a_pool(work, min(number, len(pieces)))
    else:
        _in_torchs_threads(team, work, min(number, len(pieces)))


def _in_torchs_threads(team: Callable[..., None], work: Callable[[], None], number: int) -> None:
    """Call `work` on so many threads, this one among them."""
    errors: list[BaseException] = []

    def body(_: object) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    team(_BODY(body), None, number, 0)
    if errors:
        raise errors.pop(0)
    work()  # what is left if an interrupt came before a body began: nothing else


def _in_a_pool(work: Callable[[], None], number: int) -> None:
    """The same in threads of our own."""
    futures = [_pool(os.getpid(), number - 1).submit(work) for _ in range(number - 1)]
    try:
        work()
        for future in futures:
            future.result()
    except BaseException:
        wait(futures)
        raise


@lru_cache(maxsize=1)
def _team() -> Callable[..., None] | None:
    """GNU OpenMP's call of a function on every thread, of the library that torch has loaded; None if torch uses another one.

    None also where idle threads stay awake for long: another process that wants their core would hold up every call by milliseconds.
    And in a process that may have been forked from one that used them: they are not there, and nobody tells OpenMP so.
    """
    if not _OWN_TORCH or not any(os.environ.get(name) for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")):
        return None
    call = _library()
    if call is None:
        return None
    call.argtypes, call.restype = [_BODY, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
    return cast("Callable[..., None]", call)


def _library() -> Any:
    """GOMP_parallel as torch has it, if it does."""
    folders = [Path(path).parent for path in getattr(sys.modules.get("torch"), "__path__", [])]
    found = [path for folder in folders for path in (*folder.glob("torch/lib/libgomp*.so*"), *folder.glob("torch.libs/libgomp*.so*"))]
    try:
        return ctypes.CDLL(str(found[0])).GOMP_parallel
    except (IndexError, OSError, AttributeError):
        return None


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
    package = Path(__file__).parents[1]
    sources = sorted(package.rglob("*.py"))
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
