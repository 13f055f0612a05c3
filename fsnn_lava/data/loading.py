"""Load data sets by name."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from fsnn_lava.data import event_folder, image_folder
from fsnn_lava.data.addresses import RESOURCES
from fsnn_lava.data.cifar import LAYOUT, load_cifar
from fsnn_lava.data.class_folders import find_labelled_files
from fsnn_lava.data.dataset import Dataset
from fsnn_lava.data.digits import load_digits
from fsnn_lava.data.download import download as fetch
from fsnn_lava.data.mnist import FAMILY, load_mnist
from fsnn_lava.data.names import NAMES, TONIC, TONIC_SETS
from fsnn_lava.data.nmnist import load_nmnist
from fsnn_lava.data.npz import load_npz
from fsnn_lava.data.source import Source
from fsnn_lava.data.tonic_sets import load_tonic
from fsnn_lava.errors import BadArgument, BadData, Remark


def load_data(
    name: str | Path,
    root: str | Path | None = None,
    *,
    download: bool = False,
    targets: bool = False,
    shape: Sequence[int] | None = None,
) -> Dataset:
    """Load a data set by name, or your own samples from a file or folder.

    Args:
        name: "digits" (comes with scikit-learn), "mnist", "fashion-mnist", "cifar10", "cifar100" or "nmnist"; "tonic:NAME" for an
            event data set from tonic; an .npz file; or a folder with one folder per class, of images or event camera files.
            Options follow after commas: "tonic:DVSGesture,window=20000,frames=40,size=32" (see docs/data.md).
        root: the folder to search; by default $FSNN_DATA, ~/.cache/fsnn-data and ./data.
        download: download the data set if it is missing or damaged.
        targets: take y of an .npz file as target numbers, [N] or [N, outputs], instead of classes: for regression and multi-label tasks.
        shape: the (C, H, W) that your network takes; it decides whether the channels of an .npz file come first or last.

    Returns:
        Raw uint8 values and class numbers. Whatever had to be inferred about your own file is listed in `Dataset.remarks`, and is also
        issued as a warning of the class `Remark`.

    Raises:
        BadArgument: there is no data set of that name.
        BadData: the data set is missing or damaged, or the file does not have the right layout; the message says how to write it instead.

    Examples:
        >>> data = fl.load_data("digits")
        >>> net = fl.FSNN("16C3s (F16C3)", input_shape=data.shape, classes=data.classes, normalisation=data.normalisation)
    """
    data = _load(str(name), root, download=download, targets=targets, shape=shape)
    for remark in data.remarks:
        warnings.warn(Remark(remark), stacklevel=2)
    return data


def _load(text: str, root: str | Path | None, *, download: bool, targets: bool, shape: Sequence[int] | None) -> Dataset:
    if text.endswith(".npz"):
        return load_npz(text, targets=targets, shape=shape)
    if targets:
        raise BadData(f"{text} has classes; only an .npz file can hold other targets, as its y")
    source = Source.parse(text)
    if source.name.startswith(TONIC):
        return load_tonic(source, root, download=download)
    folder = Path(source.name).expanduser()
    if source.name not in NAMES and folder.is_dir():
        return _load_folder(source, folder)
    if source.name not in NAMES and folder.is_file():
        raise BadData(f"{source.name} is not a data set: write your samples with numpy.savez('{folder.stem}.npz', x=..., y=...)")
    if "/" in source.name:
        raise BadData(f"there is no folder {source.name}")
    read = _reader(source.name)
    source.check_keys(())
    try:
        return read(root)
    except BadData:
        if not download:
            raise
    return read(fetch(RESOURCES[text], root))


def _load_folder(source: Source, folder: Path) -> Dataset:
    images = find_labelled_files(folder, image_folder.ENDINGS)
    if images is not None:
        return image_folder.load_image_folder(source, folder, images)
    recordings = find_labelled_files(folder, event_folder.ENDINGS)
    if recordings is not None:
        return event_folder.load_event_folder(source, folder, recordings)
    raise BadData(
        f"{folder} must contain one folder per class, with images ({', '.join(sorted(image_folder.ENDINGS))}) or recordings "
        f"({', '.join(sorted(event_folder.ENDINGS))}), either directly or inside the folders train and test"
    )


def _reader(name: str) -> Callable[[str | Path | None], Dataset]:
    if name == "digits":
        return lambda root: load_digits()
    if name == "nmnist":
        return load_nmnist
    if name in FAMILY:
        return lambda root: load_mnist(name, root)
    if name in LAYOUT:
        return lambda root: load_cifar(name, root)
    close = difflib.get_close_matches(name, (*NAMES, *(TONIC + known for known in TONIC_SETS)), n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise BadArgument(
        f"unknown data set {name!r}{hint}: use one of {', '.join(NAMES)}, {TONIC}NAME, a file that ends in .npz, or a folder of images "
        "or recordings"
    )


def can_load_data(folder: Path) -> bool:
    """Return whether `load_data` can load a folder: one folder per class, of images or recordings."""
    return any(find_labelled_files(folder, endings) is not None for endings in (image_folder.ENDINGS, event_folder.ENDINGS))
