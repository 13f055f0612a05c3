"""Where to search for data sets, and the messages for missing or damaged ones."""

from __future__ import annotations

import os
from pathlib import Path

from fsnn_lava.errors import BadData

VARIABLE = "FSNN_DATA"
FOLDERS = {  # folders of every data set that is read from files, in torchvision's layout; the preferred one first
    "mnist": ("MNIST/raw",),
    "fashion-mnist": ("FashionMNIST/raw",),
    "cifar10": ("cifar-10-batches-bin", "cifar-10-batches-py"),
    "cifar100": ("cifar-100-binary", "cifar-100-python"),
    "nmnist": ("NMNIST",),
}


def default_root() -> Path:
    """Return the data folder that downloads go to by default."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else Path("~/.cache/fsnn-data").expanduser()


def roots(root: str | Path | None) -> tuple[Path, ...]:
    """Return the data folders to search, in order: only the given one, or $FSNN_DATA, ~/.cache/fsnn-data and ./data."""
    if root is not None:
        return (Path(root).expanduser(),)
    candidates = (default_root(), Path("~/.cache/fsnn-data").expanduser(), Path("data"))
    return tuple(dict.fromkeys(candidates))


def first_folder(folders: tuple[str, ...], root: str | Path | None) -> Path | None:
    """Return the first of `folders` that exists, in the first data folder on the search path that contains any of them."""
    return next((place / folder for place in roots(root) for folder in folders if (place / folder).is_dir()), None)


def find_folder(name: str, root: str | Path | None, *, page: str) -> Path:
    """Search for the folder of a data set; BadData says which folders were searched and how to get it."""
    folders = FOLDERS[name]
    found = first_folder(folders, root)
    if found is None:
        where = ", ".join(str(place / folder) for place in roots(root) for folder in folders)
        raise BadData(f"data set {name!r} was not found: searched {where}. {remedy(page)}")
    return found


def find_file(name: str, folder: Path, spellings: tuple[str, ...], *, page: str) -> Path:
    """Search `folder` for the first of `spellings` that is a file."""
    for spelling in spellings:
        if (folder / spelling).is_file():
            return folder / spelling
    raise BadData(f"data set {name!r}: {' or '.join(spellings)} was not found in {folder}. {remedy(page)}")


def remedy(page: str) -> str:
    """Return advice on how to get a data set that was not found."""
    return f"Download it with --download or from {page}; --data-dir DIR or {VARIABLE} selects another folder"


def damaged_file(path: Path, what: str) -> BadData:
    """Return the error for a data file that was found but is not valid."""
    return BadData(f"{path} is damaged: {what}. Delete the file and download it again")
