"""The folder of a run: one run at a time in it, and after a kill at any moment its newest complete epoch is there to resume from."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from fsnn_lava.errors import BadArgument, BadFile

STATE = "state.pt"
LAST = "last.pt"
BEST = "best.pt"
LOG = "log.jsonl"
RECIPE = "recipe.toml"
LOCK = ".lock"


@contextlib.contextmanager
def opened(folder: Path, *, resume: bool) -> Iterator[Path]:
    """Yield the folder, made if need be and locked: refused where another run works, or where a run lies and `resume` is not said."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise BadFile(f"cannot write into the folder {folder}: {error.strerror or error}") from error
    try:
        _lock(handle, folder)
        if not resume and (folder / STATE).exists():
            raise BadArgument(f"{folder} already holds a run; continue it with --resume, or give another folder with --out")
        for half_written in folder.glob(".*.part"):
            half_written.unlink(missing_ok=True)
        yield folder
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    """Take the folder's lock; the kernel gives it back when this process ends, however it ends."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
        sentence = f"another run (process {owner}) is writing into {folder}; wait for it, or give another folder with --out"
        raise BadArgument(sentence) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
