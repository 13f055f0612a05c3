"""Load a data set by its name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from fsnn_lava.data.addresses import RESOURCES
from fsnn_lava.data.cifar import LAYOUT, load_cifar
from fsnn_lava.data.dataset import Dataset
from fsnn_lava.data.digits import load_digits
from fsnn_lava.data.download import download as fetch
from fsnn_lava.data.mnist import FAMILY, load_mnist
from fsnn_lava.data.nmnist import load_nmnist
from fsnn_lava.data.npz import load_npz
from fsnn_lava.errors import BadArgument, BadData, Remark

NAMES = ("digits", "mnist", "fashion-mnist", "cifar10", "cifar100", "nmnist")


def load_data(name: str | Path, root: str | Path | None = None, *, download: bool = False) -> Dataset:
    """Load a data set by name, or your own samples from an .npz file.

    Args:
        name: "digits" (comes with scikit-learn), "mnist", "fashion-mnist", "cifar10", "cifar100", "nmnist", or a file that ends in .npz.
        root: the folder to search; by default $FSNN_DATA, ~/.cache/fsnn-data and ./data.
        download: download a set that is missing or damaged.

    Returns:
        Raw uint8 values and class numbers. What had to be concluded about a file of yours is in `Dataset.remarks`, and is also issued as a
        warning of the class `Remark`.

    Raises:
        BadArgument: there is no data set of that name.
        BadData: the set is missing or damaged, or the file is not laid out as it must be; the message says what to write instead.

    Examples:
        >>> data = fl.load_data("digits")
        >>> net = fl.FSNN("16C3s (F16C3)", input_shape=data.shape, classes=data.classes, normalisation=data.normalisation)
    """
    data = _load(str(name), root, download=download)
    for remark in data.remarks:
        warnings.warn(Remark(remark), stacklevel=2)
    return data


def _load(text: str, root: str | Path | None, *, download: bool) -> Dataset:
    if text.endswith(".npz"):
        return load_npz(text)
    read = _reader(text)
    try:
        return read(root)
    except BadData:
        if not download:
            raise
    return read(fetch(RESOURCES[text], root))


def _reader(name: str) -> Callable[[str | Path | None], Dataset]:
    if name == "digits":
        return lambda root: load_digits()
    if name == "nmnist":
        return load_nmnist
    if name in FAMILY:
        return lambda root: load_mnist(name, root)
    if name in LAYOUT:
        return lambda root: load_cifar(name, root)
    raise BadArgument(f"there is no data set {name!r}: use one of {', '.join(NAMES)}, or a file that ends in .npz")
