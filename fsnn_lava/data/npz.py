"""A user's own samples: an .npz file with `x` (raw uint8 values) and `y` (class numbers), and for training also `x_train` and `y_train`."""

from __future__ import annotations

import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from fsnn_lava.data import own_labels, own_values
from fsnn_lava.data.dataset import ArraySplit, Dataset
from fsnn_lava.data.image_normalisation import image_normalisation
from fsnn_lava.errors import BadData
from fsnn_lava.nn.normalisation import Normalisation

MOST_BYTES = 2**33  # of an unpacked array
SMALL = 2**28  # bytes: any file may contain an array of this size …
MOST_RATIO = 100  # … and a larger one may be this many times the size of its file
SHAPES = "[B, C, H, W] or [B, N] for images, [B, T, C, H, W] or [B, T, N] for input sequences"
HOW_TO_WRITE = "write it with numpy.savez(path, x=uint8 values, y=class numbers)"


def load_npz(path: str | Path, *, targets: bool = False, shape: Sequence[int] | None = None) -> Dataset:
    """Load an .npz file: x and y are the test samples; x_train and y_train, if present, are the training samples.

    `x_test` and `y_test` are accepted instead of x and y. Layouts other than raw uint8 values with channels first are recognised and noted
    in `Dataset.remarks`, or rejected. Nothing in the file is executed, and sizes are checked before memory is allocated. `targets`: y are
    target numbers, [N] or [N, outputs], not classes. `shape`: the [C, H, W] that a network takes, which decides between channels first and
    channels last.
    """
    source = Path(path).expanduser()
    try:
        with zipfile.ZipFile(source) as archive:
            return _dataset(archive, source, targets=targets, shape=shape)
    except FileNotFoundError as error:
        raise BadData(f"there is no file {source}; {HOW_TO_WRITE}") from error
    except OSError as error:
        raise BadData(f"cannot read {source}: {error.strerror or error}") from error
    except BadData:
        raise
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, RuntimeError, ValueError, OverflowError) as error:
        raise BadData(f"{source} is not a complete .npz file ({error}); {HOW_TO_WRITE}") from error


def _dataset(archive: zipfile.ZipFile, source: Path, *, targets: bool, shape: Sequence[int] | None) -> Dataset:
    members = archive.namelist()
    tested = "_test" if "x_test.npy" in members and "x.npy" not in members else ""
    parts = (tested, "_train") if any(name in ("x_train.npy", "y_train.npy") for name in members) else (tested,)
    arrays = [_read(archive, f"x{part}", source) for part in parts]
    for part, array in zip(parts, arrays):
        if not array.size or array.ndim < 2:
            raise BadData(f"{source}: x{part} must be uint8 of shape {SHAPES}, got {array.dtype} of shape {list(array.shape)}")
    samples = own_values.recognise_values(arrays, layout=_layout(archive, source), shape=shape, where=str(source))
    names = [f"y{part}" for part in parts]
    counts = [len(array) for array in arrays]
    answers = [_read(archive, name, source) for name in names]
    if targets:
        numbers = own_labels.recognise_targets(answers, counts, names=names, where=str(source))
        labels = own_labels.Labels(tuple(np.full(count, -1, np.int64) for count in counts))
        splits = [ArraySplit(values.copy(), unknown, own) for values, unknown, own in zip(samples.arrays, labels.arrays, numbers)]
    else:
        labels = own_labels.recognise_labels(answers, counts, names=names, where=str(source))
        splits = [ArraySplit(values.copy(), own) for values, own in zip(samples.arrays, labels.arrays)]  # copied, so that it is writable
    test = splits[0]
    train = (
        splits[1] if len(splits) > 1 else ArraySplit(test.values[:0], test.labels[:0], None if test.targets is None else test.targets[:0])
    )
    if train.shape != test.shape:
        raise BadData(f"{source}: x_train has samples of shape {list(train.shape)}, but x{tested} has {list(test.shape)}; they must match")
    return Dataset(
        name=source.stem,
        train=train,
        test=test,
        normalisation=Normalisation(1.0) if samples.events else image_normalisation(train.values),
        class_names=labels.class_names,
        kind="events" if samples.events else "static",
        source=source,
        remarks=tuple(f"{source}: {remark}" for remark in (*samples.remarks, *labels.remarks)),
    )


def _layout(archive: zipfile.ZipFile, source: Path) -> str:
    """Return the entry `layout` of an .npz file, which names the axes of x; "" if there is none."""
    if "layout.npy" not in archive.namelist():
        return ""
    found = _read(archive, "layout", source)
    if found.dtype.kind != "U" or found.size != 1:
        raise BadData(f"{source}: 'layout' must be text, one of {', '.join(own_values.LAYOUTS)}")
    return str(found.item())


def _read(archive: zipfile.ZipFile, name: str, source: Path) -> np.ndarray:
    try:
        entry = archive.getinfo(f"{name}.npy")
    except KeyError:
        found = sorted(word for file in archive.namelist() if (word := file.removesuffix(".npy")[:20]).isidentifier())[:8]
        contains = f"; the file contains {', '.join(found)}" if found else ""
        raise BadData(f"{source}: the array {name!r} is missing; {HOW_TO_WRITE}{contains}") from None
    with archive.open(entry) as stream:
        shape, fortran, dtype = _header(cast(BinaryIO, stream), name, source)
        expected = math.prod(shape) * dtype.itemsize
        if expected > MOST_BYTES:
            raise BadData(f"{source}: the array {name!r} has {expected} bytes, more than {MOST_BYTES}: split the file")
        if expected > max(SMALL, MOST_RATIO * entry.compress_size):
            raise BadData(f"{source}: the array {name!r} unpacks from {entry.compress_size} to {expected} bytes: store it uncompressed")
        if entry.file_size - stream.tell() != expected:
            raise BadData(f"{source} is damaged: {name!r} has shape {list(shape)} of {dtype}, but its entry holds {entry.file_size} bytes")
        body = stream.read(expected)
    if len(body) != expected:
        raise BadData(f"{source} is damaged: {name!r} has {len(body)} of {expected} bytes")
    return np.frombuffer(body, dtype).reshape(shape, order="F" if fortran else "C")


def _header(stream: BinaryIO, name: str, source: Path) -> tuple[tuple[int, ...], bool, np.dtype]:
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except (ValueError, SyntaxError, TypeError, tokenize.TokenError, RecursionError, MemoryError, OverflowError) as error:
        raise BadData(f"{source} is damaged: the array {name!r} has no readable header ({' '.join(str(error).split())[:200]})") from error
    if any(side < 0 for side in shape):
        raise BadData(f"{source} is damaged: the array {name!r} has shape {list(shape)}")
    if dtype.hasobject or dtype.names is not None:
        remedy = "write y.astype(str) for names" if name.startswith("y") else HOW_TO_WRITE
        raise BadData(f"{source}: the array {name!r} must hold plain numbers, got {dtype}; {remedy}")
    return shape, fortran, dtype
