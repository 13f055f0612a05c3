"""Check the files that a command is asked to write, before it spends time on anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from fsnn_lava.errors import BadArgument


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise BadArgument unless every output can be written, no two are the same file, and none would replace an input.

    Args:
        outputs: the path of each output, or None, by the option or argument that names it.
        inputs: paths that the command reads; None and names that are not files are ignored.
    """
    read = [Path(path) for path in inputs if path is not None and Path(path).is_file()]
    taken: dict[Path, str] = {}
    for option, given in outputs.items():
        if given is None:
            continue
        path = Path(given)
        _check_place(path)
        if any(path.exists() and path.samefile(source) for source in read):
            raise BadArgument(f"{option} {path} would overwrite an input of this command: choose another name")
        if (other := taken.setdefault(path.resolve(), option)) != option:
            raise BadArgument(f"{other} and {option} are both {path}: choose another name for one of them")


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise BadArgument(f"cannot write {path}: it is a folder")
    if not path.parent.is_dir():
        raise BadArgument(f"cannot write {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise BadArgument(f"cannot write {path}: no permission to write to the folder {path.parent.absolute()}")
