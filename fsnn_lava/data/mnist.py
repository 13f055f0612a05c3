"""MNIST and Fashion-MNIST: 28 x 28 greyscale images of ten classes, in torchvision's folder layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fsnn_lava.data.dataset import ArraySplit, Dataset
from fsnn_lava.data.idx import read_idx
from fsnn_lava.data.search_path import damaged_file, find_file, find_folder
from fsnn_lava.nn.normalisation import Normalisation

SIDE = 28
CLASSES = 10


@dataclass(frozen=True)
class Family:
    """The differences between the data sets of the MNIST family."""

    page: str
    normalisation: Normalisation  # mean and standard deviation over all training pixels
    class_names: tuple[str, ...]


FAMILY = {
    "mnist": Family(
        page="https://ossci-datasets.s3.amazonaws.com/mnist/",
        normalisation=Normalisation(255.0, (0.1307,), (0.3081,)),
        class_names=tuple("0123456789"),
    ),
    "fashion-mnist": Family(
        page="https://github.com/zalandoresearch/fashion-mnist",
        normalisation=Normalisation(255.0, (0.2860,), (0.3530,)),
        class_names=("T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
    ),
}


def load_mnist(name: str, root: str | Path | None = None) -> Dataset:
    """Load MNIST or Fashion-MNIST ("mnist", "fashion-mnist") from its four IDX files, each plain or .gz."""
    family = FAMILY[name]
    folder = find_folder(name, root, page=family.page)
    return Dataset(
        name=name,
        train=_split(name, folder, "train", family.page),
        test=_split(name, folder, "t10k", family.page),
        normalisation=family.normalisation,
        class_names=family.class_names,
        source=folder,
    )


def _split(name: str, folder: Path, stem: str, page: str) -> ArraySplit:
    images_name, labels_name = f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte"
    images_path = find_file(name, folder, (images_name, f"{images_name}.gz"), page=page)
    labels_path = find_file(name, folder, (labels_name, f"{labels_name}.gz"), page=page)
    images, labels = read_idx(images_path, axes=3), read_idx(labels_path, axes=1)
    if images.shape[1:] != (SIDE, SIDE):
        raise damaged_file(images_path, f"its images must be {SIDE} x {SIDE}, got {images.shape[1]} x {images.shape[2]}")
    if len(labels) != len(images):
        raise damaged_file(labels_path, f"it has {len(labels)} labels for {len(images)} images")
    if labels.max() >= CLASSES:
        raise damaged_file(labels_path, f"its labels must be between 0 and {CLASSES - 1}, got {labels.max()}")
    return ArraySplit(images[:, None], labels)
