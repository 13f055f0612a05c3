"""HDF5 files: written atomically from memory, and read without trusting them.

Reading checks the type, shape and size of everything before allocating memory for it, follows no links, and opens no other files.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadFile, FsnnError
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.files.hdf5_heap import check_heaps

BYTES_MAX = 2**30  # bytes that may be read from one file in total
TEXT_MAX = 2**16  # characters in one string
CHILDREN_MAX = 1024  # members of one numbered list
CHUNK_MAX = 2**27  # bytes in one chunk, which is always unpacked as a whole
SMALL = 2**26  # bytes: any file may contain an array of this size …
RATIO_MAX = 100  # … and a larger one may be this many times the size of its file
_COMPRESS_FROM = 4096  # bytes; smaller arrays are stored uncompressed

_DAMAGE = (
    OSError,
    RuntimeError,
    KeyError,
    ValueError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    UnicodeError,
    NotImplementedError,
    MemoryError,
)
_DAMAGE_IN_HDF5 = (OSError, AttributeError, MemoryError)  # only if h5py or this folder raised it: a full disk or a bug is not damage


def write_file(path: str | Path, fill: Callable[[h5py.File], None]) -> None:
    """Write the HDF5 file that `fill` creates to `path` atomically; on failure (BadFile) an existing file is left unchanged."""
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        fill(file)
        file.flush()
        image = file.id.get_file_image()
    with atomic_path(path) as temporary:
        temporary.write_bytes(image)


def put_array(group: h5py.Group, name: str, array: NDArray[Any]) -> h5py.Dataset:
    """Store an array in an HDF5 group, compressed unless it is small."""
    if array.nbytes < _COMPRESS_FROM:
        return group.create_dataset(name, data=array)
    return group.create_dataset(name, data=array, compression="gzip", compression_opts=6, shuffle=array.dtype.itemsize > 1)


@contextlib.contextmanager
def open_file(path: str | Path) -> Iterator[Hdf5Node]:
    """Yield the root of an HDF5 file; errors caused by a damaged file become BadFile, with the file's name in the message."""
    target = Path(path)
    if not target.exists():
        raise BadFile(f"{target} does not exist")
    if not target.is_file():
        raise BadFile(f"{target} is not a file")
    try:
        check_heaps(target)
        with h5py.File(target, "r") as file:
            yield Hdf5Node(file, str(target), [BYTES_MAX, target.stat().st_size])
    except FsnnError as error:
        raise BadFile(str(error) if str(target) in str(error) else f"{target}: {error}") from error
    except _DAMAGE as error:
        if isinstance(error, _DAMAGE_IN_HDF5) and not _raised_while_reading(error):
            raise
        if isinstance(error, PermissionError):
            raise BadFile(f"{target} cannot be read: {error.strerror}") from error
        raise BadFile(f"{target} is not an HDF5 file, or it is damaged: {_one_line(error)}") from error


def _raised_while_reading(error: BaseException) -> bool:
    """Return whether the error was raised by h5py, which fails on some damaged files, or by our readers, and not in code that uses them."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    return module.partition(".")[0] == "h5py" or module.startswith(("fsnn_lava.files.hdf5", "fsnn_lava.formats."))


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


class Hdf5Node:
    """A group in an untrusted HDF5 file."""

    def __init__(self, group: h5py.Group, where: str, budget: list[int]) -> None:
        self._group, self.where, self._budget = group, where, budget

    def fail(self, what: str) -> BadFile:
        """Return the BadFile error for this place in the HDF5 file."""
        return BadFile(f"{self.where}: {what}")

    def has(self, name: str) -> bool:
        """Return whether the group has a member of this name."""
        return self._group.id.links.exists(name.encode())  # h5py's `in` would follow a link to another file

    def has_attribute(self, name: str) -> bool:
        """Return whether the group has an attribute of this name."""
        return name in self._group.attrs

    def group(self, name: str) -> Hdf5Node:
        """Return the member `name`, which must be a group."""
        item = self._member(name)
        if not isinstance(item, h5py.Group):
            raise self.fail(f"{name!r} must be a group")
        return Hdf5Node(item, f"{self.where}:{name}" if self._group.name == "/" else f"{self.where}/{name}", self._budget)

    def numbered(self, name: str) -> list[Hdf5Node]:
        """Return the members "0", "1", … of the group `name`, in that order."""
        parent = self.group(name)
        count = len(parent._group)
        if count > CHILDREN_MAX:
            raise parent.fail(f"has {count} members, but at most {CHILDREN_MAX} are allowed")
        missing = [i for i in range(count) if not parent.has(str(i))]
        if missing:
            raise parent.fail(f"members must be numbered 0 … {count - 1}; {missing[0]} is missing")
        return [parent.group(str(i)) for i in range(count)]

    def groups(self, name: str) -> dict[str, Hdf5Node]:
        """Return all members of the group `name` by name; each must be a group."""
        parent = self.group(name)
        if len(parent._group) > CHILDREN_MAX:
            raise parent.fail(f"has {len(parent._group)} members, but at most {CHILDREN_MAX} are allowed")
        return {member: parent.group(member) for member in parent.names()}

    def names(self) -> list[str]:
        """Return the names of all members of this HDF5 group."""
        return list(self._group)

    def _member(self, name: str) -> Any:
        if not self.has(name):
            raise self.fail(f"{name!r} is missing")
        if self._group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
            raise self.fail(f"{name!r} is a link; links are not followed")
        return self._group[name]

    def dataset(self, name: str) -> h5py.Dataset:
        """Return the array `name` without reading it; the caller checks its type and shape before slicing it."""
        item = self._member(name)
        if not isinstance(item, h5py.Dataset):
            raise self.fail(f"{name!r} must be an array")
        if item.shape is None or item.dtype.shape:
            raise self.fail(f"{name!r} must contain plain numbers, got {item.dtype}")
        if item.external or item.is_virtual:
            raise self.fail(f"{name!r} is stored in another file; external files are not opened")
        size, stored = _bytes(item.shape, item), self._budget[1]
        if size > max(SMALL, RATIO_MAX * stored):
            raise self.fail(f"{name!r} takes {size} bytes, too much for a file of {stored} bytes")
        if item.chunks is not None and _bytes(item.chunks, item) > CHUNK_MAX:
            raise self.fail(f"{name!r} is stored in chunks of {_bytes(item.chunks, item)} bytes, but at most {CHUNK_MAX} are allowed")
        return item

    def array(self, name: str, kinds: str, axes: tuple[int, ...] | None = None) -> NDArray[Any]:
        """Read the array `name`, which must have one of the numpy `kinds` ("iu", "f", …) and one of these numbers of axes."""
        item = self.dataset(name)
        if item.dtype.kind not in kinds:
            raise self.fail(f"{name!r} must contain {_kind_names(kinds)}, got {item.dtype}")
        if axes is not None and len(item.shape) not in axes:
            raise self.fail(f"{name!r} must have {' or '.join(map(str, axes))} axes, got shape {item.shape}")
        if item.dtype.kind == "O" and item.size > CHILDREN_MAX:
            raise self.fail(f"{name!r} contains {item.size} strings, but at most {CHILDREN_MAX} are allowed")
        size = _bytes(item.shape, item)
        if size > self._budget[0]:
            raise self.fail(f"{name!r} takes {size} bytes, but at most {BYTES_MAX} are read from one file")
        self._budget[0] -= size
        return np.asarray(item[()])

    def text(self, name: str) -> str:
        """Return the attribute `name`, which must be a string."""
        value = self._attribute(name)
        value = value.decode("utf-8") if isinstance(value, bytes) else value
        if not isinstance(value, str) or len(value) > TEXT_MAX:
            raise self.fail(f"attribute {name!r} must be a string of at most {TEXT_MAX} characters")
        return value

    def integer(self, name: str) -> int:
        """Return the attribute `name`, which must be an integer."""
        value = np.asarray(self._attribute(name))
        if value.dtype.kind not in "iub" or value.shape != ():
            raise self.fail(f"attribute {name!r} must be an integer")
        return int(value)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return the attribute `name`, which must be a list of integers."""
        value = np.asarray(self._attribute(name))
        if value.dtype.kind not in "iu" or value.ndim != 1:
            raise self.fail(f"attribute {name!r} must be a list of integers")
        return tuple(int(v) for v in value)

    def pair(self, name: str) -> tuple[int, int]:
        """Return the attribute `name`, which must be two integers."""
        value = self.integers(name)
        if len(value) != 2:
            raise self.fail(f"attribute {name!r} must be two integers, got {len(value)}")
        return value[0], value[1]

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return the attribute `name`, which must be a list of finite numbers."""
        value = np.asarray(self._attribute(name))
        if value.dtype.kind not in "fiu" or value.ndim != 1:
            raise self.fail(f"attribute {name!r} must be a list of numbers")
        return tuple(float(v) for v in value)

    def number(self, name: str) -> float:
        """Return the attribute `name`, which must be a finite number."""
        value = np.asarray(self._attribute(name))
        if value.dtype.kind not in "fiu" or value.shape != ():
            raise self.fail(f"attribute {name!r} must be a number")
        return float(value)

    def _attribute(self, name: str) -> Any:
        if name not in self._group.attrs:
            raise self.fail(f"attribute {name!r} is missing")
        identity = self._group.attrs.get_id(name)
        if identity.get_storage_size() > TEXT_MAX:
            raise self.fail(f"attribute {name!r} is too large")
        if identity.dtype.kind == "O" and identity.shape != ():  # each string could be as large as the file
            raise self.fail(f"attribute {name!r} must be numbers or a single string")
        return self._group.attrs[name]


def _bytes(shape: tuple[int, ...], item: h5py.Dataset) -> int:
    return math.prod(shape) * int(item.dtype.itemsize)


def _kind_names(kinds: str) -> str:
    words = {"i": "integers", "u": "integers", "f": "numbers", "S": "text", "O": "text", "b": "booleans"}
    return " or ".join(dict.fromkeys(words[k] for k in kinds))
