"""Load a data set by its name."""

from __future__ import annotations

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
from fsnn_lava.errors import BadArgument, BadData

NAMES = ("digits", "mnist", "fashion-mnist", "cifar10", "cifar100", "nmnist")


def load(name: str | Path, root: str | Path | None = None, *, download: bool = False) -> Dataset:
    """Load a data set by name, or the samples of an .npz file.

    Searches `root`, or by default $FSNN_DATA, ~/.cache/fsnn-data and ./data. With `download`, a missing or damaged set is downloaded.
    """
    text = str(name)
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
