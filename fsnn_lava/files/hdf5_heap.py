"""Check the global heaps of an HDF5 file, which contain its strings, because libhdf5 loops forever on damaged ones."""

from __future__ import annotations

import mmap
from pathlib import Path

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK\x03\x04"  # a file written by torch.save
_HEAP = b"GCOL\x01\x00\x00\x00"
_HEADER = 16  # bytes in the header of a heap, and in that of each object
_WIDTH = 8  # bytes in an offset and in a length


def check_heaps(path: Path) -> None:
    """Raise ValueError unless every object in every global heap of an HDF5 file lies inside its heap."""
    if path.stat().st_size == 0:
        raise ValueError("it is empty")
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] == _ZIP:
            raise ValueError("it is a zip archive, as a model.pt is; fsnn-export makes a net.h5 of a model.pt")
        if data[:8] != _SIGNATURE:
            raise ValueError("file signature not found")
        widths = data[13:15] if data[8:9] in (b"\x00", b"\x01") else data[9:11]
        if widths != bytes((_WIDTH, _WIDTH)):
            raise ValueError(f"offsets and lengths must have {_WIDTH} bytes")
        at = data.find(_HEAP)
        while at >= 0:
            _check_heap(data, at)
            at = data.find(_HEAP, at + len(_HEAP))


def _check_heap(data: mmap.mmap, start: int) -> None:
    end = start + _number(data, start + 8)
    if end > len(data):
        raise ValueError("a global heap is longer than the file")
    at = start + _HEADER
    while end - at >= _HEADER:
        size = _number(data, at + 8)
        free = data[at : at + 2] == b"\x00\x00"  # the size of free space includes its header
        length = size if free else _HEADER + -(-size // 8) * 8
        if not _HEADER <= length <= end - at:
            raise ValueError("an object in a global heap extends past the end of the heap")
        at += length


def _number(data: mmap.mmap, at: int) -> int:
    return int.from_bytes(data[at : at + _WIDTH], "little")
