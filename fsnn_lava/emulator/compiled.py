"""Compile for the machine, once: machine code is cached on disk where somebody may write, else kept for this process only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(*, parallel: bool = False) -> Callable[[Function], Function]:
    """Decorator: numba's njit without fast-math, so that integers and floats come out the same on every machine."""

    def decorate(function: Function) -> Function:
        return numba.njit(parallel=parallel, cache=_cache(), nogil=True)(function)

    return decorate


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
            numba.config.CACHE_DIR = str(folder)
            return True
    return False


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid()
