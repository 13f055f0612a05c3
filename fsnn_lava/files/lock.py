"""A lock on a file, released when the process ends in any way; forked processes do not inherit it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fsnn_lava.errors import BadArgument

ATTEMPTS, PAUSE_SECONDS = 3, 0.1  # the previous owner may be removing the file right now
_FLOCK = "hhqqi"  # struct flock of Linux: type, whence, start, length, process


@contextlib.contextmanager
def locked(path: Path, *, note: str, what: str) -> Iterator[None]:
    """Hold the lock for the duration of the block; create its folder if needed. Raises BadArgument if another process holds it.

    `note` is written into the file and tells others who holds it; `what` names the output in the error message.
    """
    handle = _take(path, what)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, note.encode(), 0)
        yield
    finally:
        os.close(handle)


def _take(path: Path, what: str) -> int:
    owner = "unknown"
    for _ in range(ATTEMPTS):
        path.parent.mkdir(exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if _try(handle) and _is_file_at(handle, path):
            return handle
        owner = _note(handle)
        os.close(handle)
        time.sleep(PAUSE_SECONDS)
    raise BadArgument(f"another run (process {owner}) is writing {what}; wait for it, or choose another --out")


def held_elsewhere(path: Path) -> str | None:
    """Return the note of the process that holds the lock, or None. The lock is not taken, since that could make its owner fail."""
    if sys.platform != "linux":  # struct flock differs on other systems
        return None
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind = struct.unpack(_FLOCK, fcntl.fcntl(handle, fcntl.F_GETLK, question))[0]
        return None if kind == fcntl.F_UNLCK else _note(handle)
    finally:
        os.close(handle)


def _try(handle: int) -> bool:
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # POSIX allows both
        return False
    return True


def _note(handle: int) -> str:
    return os.pread(handle, 64, 0).decode(errors="replace").strip() or "unknown"


def _is_file_at(handle: int, path: Path) -> bool:
    """Return whether `path` is still this file: the previous owner of the lock may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
