"""CIFAR-10 and CIFAR-100: 32 x 32 colour images, in their authors' binary or Python layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fsnn_lava.data import cifar_names
from fsnn_lava.data.dataset import ArraySplit, Dataset
from fsnn_lava.data.search_path import FOLDERS, damaged_file, find_file, find_folder
from fsnn_lava.errors import BadData
from fsnn_lava.files.plain_pickle import NotPlain, pickled_array, read_plain_pickle
from fsnn_lava.nn.normalisation import Normalisation

PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
MOST_BYTES = 2**29  # no file has more than 155 MB


@dataclass(frozen=True)
class Layout:
    """The file names of one CIFAR data set, and the position of an image's label."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    label_bytes: int  # bytes before the pixels of an image in the binary layout; the last one is the label
    label_key: str  # key in the Python layout
    normalisation: Normalisation  # mean and standard deviation over all training pixels of a channel
    class_names: tuple[str, ...]


LAYOUT = {
    "cifar10": Layout(
        train=("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"),
        test=("test_batch",),
        label_bytes=1,
        label_key="labels",
        normalisation=Normalisation(255.0, (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
        class_names=cifar_names.CIFAR10,
    ),
    "cifar100": Layout(
        train=("train",),
        test=("test",),
        label_bytes=2,
        label_key="fine_labels",
        normalisation=Normalisation(255.0, (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
        class_names=cifar_names.CIFAR100,
    ),
}


def load_cifar(name: str, root: str | Path | None = None) -> Dataset:
    """Load CIFAR-10 or CIFAR-100 ("cifar10", "cifar100"); the binary layout is preferred if both exist."""
    layout = LAYOUT[name]
    folder = find_folder(name, root, page=PAGE)
    return Dataset(
        name=name,
        train=_split(name, folder, layout, layout.train),
        test=_split(name, folder, layout, layout.test),
        normalisation=layout.normalisation,
        class_names=layout.class_names,
        augment="crop-flip",
        source=folder,
    )


def _split(name: str, folder: Path, layout: Layout, files: Sequence[str]) -> ArraySplit:
    binary = folder.name == FOLDERS[name][0]
    paths = [find_file(name, folder, (f"{file}.bin" if binary else file,), page=PAGE) for file in files]
    parts = [(_read_binary if binary else _read_python)(path, layout) for path in paths]
    for path, (_, labels) in zip(paths, parts):
        if labels.max() >= len(layout.class_names):
            raise damaged_file(path, f"its labels must be between 0 and {len(layout.class_names) - 1}, got {labels.max()}")
    images = np.concatenate([images for images, _ in parts])
    return ArraySplit(images.reshape(-1, *SHAPE), np.concatenate([labels for _, labels in parts]))


def _read_binary(path: Path, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Read images [N, 3072] uint8 and labels [N] from one file of records: label bytes, then the red, green and blue planes."""
    row = layout.label_bytes + PIXELS
    data = np.frombuffer(_read(path), np.uint8)
    if not len(data) or len(data) % row:
        raise damaged_file(path, f"it must hold a whole number of records of {row} bytes, got {len(data)} bytes")
    records = data.reshape(-1, row)
    return records[:, layout.label_bytes :], records[:, layout.label_bytes - 1].astype(np.int64)


def _read_python(path: Path, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Read images and labels from one file in the Python layout; nothing in it is executed."""
    try:
        content = read_plain_pickle(_read(path))
        if not isinstance(content, dict):
            raise NotPlain("its contents must be a dict")
        images = pickled_array(_entry(content, "data"))
        labels = _entry(content, layout.label_key)
    except NotPlain as error:
        raise damaged_file(path, str(error)) from error
    if images.ndim != 2 or images.shape[1] != PIXELS or not len(images):
        raise damaged_file(path, f"its images must have shape [N, {PIXELS}], got {list(images.shape)}")
    if not (isinstance(labels, list) and len(labels) == len(images) and all(type(label) is int and 0 <= label < 256 for label in labels)):
        raise damaged_file(path, f"its {layout.label_key} must be {len(images)} integers from 0 to 255")
    return images, np.array(labels, np.int64)


def _entry(content: dict[Any, Any], key: str) -> Any:
    for spelling in (key, key.encode()):
        if spelling in content:
            return content[spelling]
    raise NotPlain(f"the entry {key!r} is missing")


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise damaged_file(path, f"it has {size} bytes, more than any file of this data set")
        return path.read_bytes()
    except OSError as error:
        raise BadData(f"cannot read {path}: {error.strerror or error}") from error
