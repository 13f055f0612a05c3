"""The IDX format of the MNIST family: a big-endian header with the shape, then the bytes."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from fsnn_lava.data.search_path import damaged_file
from fsnn_lava.errors import BadData

MOST_BYTES = 2**28  # five times the largest file of this family; a larger size in a header means damage
UNSIGNED_BYTES = 0x08
CHUNK = 2**20


def read_idx(path: Path, *, axes: int) -> np.ndarray:
    """Read an IDX file of unsigned bytes with `axes` axes, gzipped or not; its length must match its header."""
    try:
        with cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb") as stream:
            return _read(stream, path, axes)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise damaged_file(path, f"it cannot be unpacked ({error})") from error
    except OSError as error:
        raise BadData(f"cannot read {path}: {error.strerror or error}") from error


def _read(stream: BinaryIO, path: Path, axes: int) -> np.ndarray:
    header = stream.read(4 + 4 * axes)
    if len(header) < 4 + 4 * axes or header[:4] != bytes((0, 0, UNSIGNED_BYTES, axes)):
        raise damaged_file(
            path, f"it must start as an IDX file of unsigned bytes with {axes} axes, got {header[:4].hex(' ') or 'an empty file'}"
        )
    shape = struct.unpack(f">{axes}I", header[4:])
    count = math.prod(shape)
    if not 0 < count <= MOST_BYTES:
        raise damaged_file(path, f"its header says the shape is {list(shape)}")
    body = _read_at_most(stream, count + 1)
    if len(body) != count:
        raise damaged_file(path, f"its header says {count} bytes, but it contains {'more' if len(body) > count else len(body)}")
    return np.frombuffer(body, np.uint8).reshape(shape)


def _read_at_most(stream: BinaryIO, size: int) -> bytes:
    """Read up to `size` bytes in chunks, so that a wrong size in a header cannot allocate much memory."""
    chunks: list[bytes] = []
    while size > 0 and (chunk := stream.read(min(size, CHUNK))):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
