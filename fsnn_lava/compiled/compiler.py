"""Compile functions to machine code, and cache the result on disk.

The cache folder is named after a hash of everything that is compiled: the files of this folder, the limits that are compiled in as
constants, and the compiler's versions. numba alone would not notice that a function called from another file has changed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import llvmlite
import numba

from fsnn_lava.errors import BackendMissing

if TYPE_CHECKING:
    from torch import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])
PACKAGE = Path(__file__).parents[1]


def compiled(function: Function, *, reorder: bool = False) -> Function:
    """Compile with numba's njit, without fast-math, so that integer and float results are the same on every machine.

    `reorder` lets the compiler reorder sums of floats to use vector instructions.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise BackendMissing("NUMBA_DISABLE_JIT is set, but the kernels would overflow without compilation; unset it")
    return cast(Function, numba.njit(cache=_has_cache(), nogil=True, fastmath={"reassoc"} if reorder else False)(function))


def compiler_accepts(values: Tensor) -> bool:
    """Return whether compiled functions accept this tensor: contiguous float32 or float64 on the CPU."""
    return values.device.type == "cpu" and str(values.dtype) in ("torch.float32", "torch.float64") and values.is_contiguous()


def cache_key(package: Path = PACKAGE) -> str:
    """Return a hash of every file in `package`/compiled, of `package`/limits.py, and of the compiler's versions."""
    state = hashlib.sha256(f"numba {numba.__version__}, llvmlite {llvmlite.__version__}".encode())
    for path in (*sorted((package / "compiled").rglob("*.py")), package / "limits.py"):
        content = path.read_bytes()
        state.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode() + content)
    return state.hexdigest()[:12]


@lru_cache(maxsize=1)
def _has_cache() -> bool:
    """Choose the cache folder: in the package if it is writable, else the user's cache, else a temporary one; False if none is writable."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    name, user = f"compiled-{cache_key()}", f"fsnn-lava-{os.getuid()}"
    caches = [Path(place) / user for place in (os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache")) if place]
    for parent in (PACKAGE / "__pycache__", *caches, Path(tempfile.gettempdir()) / user):
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
