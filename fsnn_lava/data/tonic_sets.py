"""Event data sets by their name in tonic: `tonic:NMNIST`, `tonic:DVSGesture`, `tonic:SHD`, …, in the folders where tonic stores them."""

from __future__ import annotations

import difflib
import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np

from fsnn_lava.data.dataset import Dataset
from fsnn_lava.data.event_frames import OPTIONS, Framing
from fsnn_lava.data.frame_cache import FOLDER, FrameCache
from fsnn_lava.data.names import TONIC, TONIC_SETS
from fsnn_lava.data.recordings import RecordingSplit
from fsnn_lava.data.search_path import VARIABLE, default_root, roots
from fsnn_lava.data.source import Source
from fsnn_lava.errors import BadArgument, BadData, PackageMissing
from fsnn_lava.nn.normalisation import Normalisation

EVERY = 5  # in a data set without a test split, the 1st, 6th, 11th, … recording of a class is a test sample


def load_tonic(source: Source, root: str | Path | None = None, *, download: bool = False) -> Dataset:
    """Load the Tonic data set that `source` names, with its recordings as frames (see `Framing`); download it only if `download` is set."""
    name = source.name.removeprefix(TONIC)
    if name not in TONIC_SETS:
        spellings = {known.lower(): known for known in TONIC_SETS}
        close = difflib.get_close_matches(name.lower(), spellings, n=1)
        hint = f"did you mean {TONIC}{spellings[close[0]]}?" if close else f"use one of {', '.join(TONIC_SETS)}"
        raise BadArgument(f"there is no data set {source.name!r}; {hint}")
    source.check_keys(OPTIONS)
    kind = _offline(name, download=download)
    base = _base(name, root)
    if "train" not in inspect.signature(kind.__init__).parameters:
        whole = _split(_made(kind, base, {}), source)
        test = np.zeros(len(whole), bool)
        for label in np.unique(whole.labels):
            test[np.flatnonzero(whole.labels == label)[::EVERY]] = True
        train, test_split = _chosen(whole, ~test), _chosen(whole, test)
        remarks: tuple[str, ...] = (f"{name} has no test split: every {EVERY}th recording of a class is a test sample",)
    else:
        train, test_split = (_split(_made(kind, base, {"train": which}), source) for which in (True, False))
        remarks = ()
    return Dataset(
        name=source.name,
        train=train,
        test=test_split,
        normalisation=Normalisation(1.0, (0.0,), (1.0,)),
        class_names=_class_names(kind, max(int(part.labels.max(initial=0)) for part in (train, test_split)) + 1),
        kind="events",
        source=base / name,
        remarks=remarks,
    )


def _offline(name: str, *, download: bool) -> Any:
    """Return tonic's class, modified to download only if `download` is set and to accept an incomplete data set."""
    from tonic import datasets

    original = getattr(datasets, name, None)
    if original is None:
        raise BadArgument(f"tonic {getattr(datasets, '__version__', '')} has no data set {name}; update tonic")

    def exists(self: Any) -> bool:
        folder = Path(self.location_on_system)
        return original._check_exists(self) is True or (folder.is_dir() and any(folder.iterdir()) and not download)

    def refuse(self: Any) -> None:
        raise BadData(
            f"data set {TONIC}{name} was not found in {self.location_on_system}; download it with --download, or name the folder that "
            f"contains {name} with --data-dir DIR or {VARIABLE}"
        )

    changes: dict[str, Any] = {"_check_exists": exists}
    return type(original)(original.__name__, (original,), changes if download else {**changes, "download": refuse})


def _base(name: str, root: str | Path | None) -> Path:
    """Return the folder in which tonic looks for the folder of the data set."""
    found = next((place for place in roots(root) if (place / name).is_dir()), None)
    return found or (Path(root).expanduser() if root is not None else default_root())


def _made(kind: Any, base: Path, options: dict[str, Any]) -> Any:
    try:
        return kind(save_to=str(base), **options)
    except BadData:
        raise
    except (OSError, RuntimeError, ValueError, LookupError, ImportError) as error:
        reason = " ".join(str(error).split())[:300]
        raise BadData(f"data set {TONIC}{kind.__name__} cannot be read from {base / kind.__name__}: {reason}") from error


def _split(found: Any, source: Source) -> RecordingSplit:
    """Return a split of one of tonic's data sets, sorted by file, since tonic lists samples in the order of the file system."""
    paths = found.data if len(found.data) == len(found) and all(isinstance(one, str) for one in found.data) else None
    order = np.argsort(np.array(paths), kind="stable") if paths else np.arange(len(found))
    if not len(order):
        raise BadData(f"data set {source.name}: there is no recording in {found.location_on_system}")
    file = getattr(found, "data_filename", "")
    place = os.path.join(found.location_on_system, file if isinstance(file, str) else "")
    split = "train" if getattr(found, "train", True) else "test"
    names = tuple(paths[i] if paths else f"{place}#{split}{i}" for i in order)
    framing = Framing.of(source, _sensor(found, source))
    cached = source.choice("cache", ("yes", "no")) == "yes"
    cache = FrameCache(Path(found.location_on_system).parent / FOLDER / type(found).__name__, framing.shape) if cached else None
    return RecordingSplit(lambda index: _events(found, int(order[index])), names, _labels(found)[order], framing, cache)


def _events(found: Any, index: int) -> np.ndarray:
    try:
        return np.asarray(found[index][0])
    except ImportError as error:
        raise PackageMissing(f"tonic needs another package to read {type(found).__name__} ({error}): install it with pip") from error
    except (OSError, ValueError, LookupError, TypeError, RuntimeError, ArithmeticError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadData(f"recording {index} of {type(found).__name__} in {found.location_on_system} cannot be read: {reason}") from error


def _labels(found: Any) -> np.ndarray:
    """Return the class numbers of tonic's samples, [N] int64."""
    targets = getattr(found, "targets", None)
    if targets is None or len(targets) != len(found):
        targets = _stored_labels(found)
    if len(targets) and isinstance(targets[0], str):
        known = {name: number for number, name in enumerate(sorted(set(targets)))}
        targets = [known[target] for target in targets]
    return np.asarray(targets, np.int64)


def _stored_labels(found: Any) -> Any:
    """Return the labels: all at once for the Heidelberg data sets, since tonic would read every sample; else one by one."""
    file = os.path.join(found.location_on_system, str(getattr(found, "data_filename", "")))
    if file.endswith(".h5"):
        import h5py

        with h5py.File(file, "r") as opened:
            return opened["labels"][()]
    return [found[index][1] for index in range(len(found))]


def _sensor(found: Any, source: Source) -> tuple[int, int, int]:
    """Return the width, height and polarities of the sensor, from the option `sensor` if the recordings differ in size."""
    known, given = getattr(found, "sensor_size", None), source.sides("sensor")
    if given is not None:
        return (*given, known[2] if known else 2)
    if known is None:
        raise BadArgument(f"the recordings of {source.name} differ in size: add the option sensor=WIDTHxHEIGHT, for example sensor=240x180")
    return (int(known[0]), int(known[1]), int(known[2]))


def _class_names(kind: Any, classes: int) -> tuple[str, ...]:
    """Return tonic's class names, if there is one for each class."""
    names = getattr(kind, "classes", ())
    listed = tuple(sorted(names, key=names.__getitem__) if isinstance(names, dict) else names)
    return tuple(map(str, listed)) if len(listed) >= classes else ()


def _chosen(split: RecordingSplit, which: np.ndarray) -> RecordingSplit:
    rows = np.flatnonzero(which)
    names = tuple(split.names[row] for row in rows)
    return RecordingSplit(lambda index: split.read(int(rows[index])), names, split.labels[rows], split.framing, split.cache)
