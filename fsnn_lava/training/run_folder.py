"""The folder of a training run: one run at a time writes to it, and it contains the last complete epoch even if the process is killed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.files.lock import locked

STATE = "state.pt"
LAST = "last.pt"
BEST = "best.pt"
LOG = "log.jsonl"
RECIPE = "recipe.toml"
LOCK = ".lock"


@contextlib.contextmanager
def claim_run_folder(folder: Path, *, resume: bool) -> Iterator[Path]:
    """Create the folder and lock it for the duration of the block; if the block fails before it writes anything, remove the folder again.

    Raises BadArgument if another run is writing to it, or if it already contains a run and `resume` is False.
    """
    if folder.exists() and not folder.is_dir():
        raise BadArgument(f"cannot write into the folder {folder}: it is a file")
    with contextlib.ExitStack() as stack:
        if not folder.exists():
            stack.push(lambda kind, *_: _remove_unused(folder) if kind is not None else None)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder / LOCK, note=str(os.getpid()), what=f"into {folder}"))
        except OSError as error:
            raise BadFile(f"cannot write into the folder {folder}: {error.strerror or error}") from error
        if not resume and (folder / STATE).exists():
            raise BadArgument(f"{folder} already contains a run; continue it with --resume, or give another folder with --out")
        for incomplete in folder.glob(".*.part"):
            incomplete.unlink(missing_ok=True)
        yield folder


def _remove_unused(folder: Path) -> None:
    """Remove the folder if it contains nothing but our lock."""
    if folder.is_dir() and {path.name for path in folder.iterdir()} <= {LOCK}:
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()
