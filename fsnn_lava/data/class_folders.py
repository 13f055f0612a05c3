"""One folder per class: DIR/train/CLASS/FILE and DIR/test/CLASS/FILE, or DIR/CLASS/FILE with a fixed test split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsnn_lava.errors import BadData

TEST_NAMES = ("test", "val", "valid", "validation")
EVERY = 5  # without a test folder, the 1st, 6th, 11th, … file of a class is a test sample
FILES_MAX = 10**6


@dataclass(frozen=True, eq=False)
class LabelledFiles:
    """The files of a data set, sorted, with their class numbers."""

    class_names: tuple[str, ...]
    train: tuple[tuple[Path, int], ...]
    test: tuple[tuple[Path, int], ...]
    remarks: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[Path, ...]:
        """All files in the class folders, training and test."""
        return tuple(path for path, _ in (*self.train, *self.test))


def find_labelled_files(folder: Path, endings: frozenset[str]) -> LabelledFiles | None:
    """Return the files with one of `endings` in class folders; None if the folder has no class folders with such files."""
    parts = {child.name.lower(): child for child in _folders(folder)}
    test = next((parts[name] for name in TEST_NAMES if name in parts), None)
    if "train" in parts and test is not None:
        found = [_by_class(part, endings) for part in (parts["train"], test)]
        names = tuple(sorted({*found[0], *found[1]}))
        if not names:
            return None
        train, tested = (tuple((path, names.index(name)) for name in names for path in one.get(name, ())) for one in found)
        return LabelledFiles(names, train, tested)
    whole = _by_class(folder, endings)
    if not whole:
        return None
    names = tuple(sorted(whole))
    numbered = [(path, number, position % EVERY == 0) for number, name in enumerate(names) for position, path in enumerate(whole[name])]
    chosen = {which: tuple((path, number) for path, number, is_test in numbered if is_test == which) for which in (True, False)}
    said = (
        f"{folder} has no train and test folders: every {EVERY}th file of each class is used as a test sample ({len(chosen[True])} files)"
    )
    return LabelledFiles(names, chosen[False], chosen[True], (said,))


def _by_class(folder: Path, endings: frozenset[str]) -> dict[str, list[Path]]:
    """Return the files of every class that has any, sorted."""
    found = {child.name: sorted(path for path in child.rglob("*") if path.suffix.lower() in endings) for child in _folders(folder)}
    if sum(map(len, found.values())) > FILES_MAX:
        raise BadData(f"{folder} contains more than {FILES_MAX} files; convert them to an .npz file")
    return {name: paths for name, paths in found.items() if paths}


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    except OSError as error:
        raise BadData(f"cannot read {folder}: {error.strerror or error}") from error


def class_folder_labels(files: tuple[tuple[Path, int], ...]) -> np.ndarray:
    """Return the class number of every file in class folders, [N] int64."""
    return np.array([number for _, number in files], np.int64)
