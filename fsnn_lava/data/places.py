"""Where data sets are looked for, and what to say when one is not there."""

from __future__ import annotations

import os
from pathlib import Path

from fsnn_lava.errors import BadData

VARIABLE = "FSNN_DATA"


def default_root() -> Path:
    """The folder that downloads go to when none is named."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else Path("~/.cache/fsnn-data").expanduser()


def roots(root: str | Path | None) -> tuple[Path, ...]:
    """The folders to search, in order: the one that is named and no other; or $FSNN_DATA, ~/.cache/fsnn-data and ./data."""
    if root is not None:
        return (Path(root).expanduser(),)
    candidates = (default_root(), Path("~/.cache/fsnn-data").expanduser(), Path("data"))
    return tuple(dict.fromkeys(candidates))


def find_folder(name: str, folders: tuple[str, ...], root: str | Path | None, *, page: str) -> Path:
    """The first of `folders` (layouts of one set, preferred first) that exists in the first root that has any."""
    searched = roots(root)
    for place in searched:
        for folder in folders:
            if (place / folder).is_dir():
                return place / folder
    where = ", ".join(str(place / folder) for place in searched for folder in folders)
    raise BadData(f"data set {name!r} is not here: looked for {where}. {remedy(page)}")


def find_file(name: str, folder: Path, spellings: tuple[str, ...], *, page: str) -> Path:
    """The first of `spellings` that is a file in `folder`."""
    for spelling in spellings:
        if (folder / spelling).is_file():
            return folder / spelling
    raise BadData(f"data set {name!r}: {' or '.join(spellings)} is missing in {folder}. {remedy(page)}")


def remedy(page: str) -> str:
    return f"Get it with --download where there is internet, or from {page}; --data DIR or {VARIABLE} name another place"


def damaged(path: Path, what: str) -> BadData:
    """The error for a file that is there but not what it should be."""
    return BadData(f"{path} is damaged: {what}. Delete it and get it again")
