"""Replace a file atomically: a reader sees the old file or the new one, never a partial one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fsnn_lava.errors import BadFile


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`; the file is flushed and renamed to `path` if the block succeeds, removed if it raises."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent or ".")
    except OSError as error:
        raise BadFile(f"cannot write {target}: {error.strerror or error}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
        _flush(target.parent)
    except OSError as error:
        raise BadFile(f"cannot write {target}: {error.strerror or error}") from error
    except BadFile as error:  # the block may have written the file with this function too
        raise type(error)(str(error).replace(str(temporary), str(target)).replace(str(temporary.absolute()), str(target))) from error
    finally:
        temporary.unlink(missing_ok=True)


def move_atomically(made: Path, path: Path) -> None:
    """Replace `path` atomically with a finished, flushed file on the same disk."""
    try:
        os.replace(made, path)
        _flush(path.parent)
    except OSError as error:
        raise BadFile(f"cannot write {path}: {error.strerror or error}") from error


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
