"""Frames cached on disk, so that a recording is decoded only once. A missing or damaged entry is created again."""

from __future__ import annotations

import hashlib
import math
import os
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsnn_lava.errors import Remark

FOLDER = "frames"  # inside the folder of the data sets
LEVEL = 1  # of compression, since frames are mostly zeros


@dataclass(frozen=True)
class FrameCache:
    """A folder of compressed frames, each under the hash of everything it depends on."""

    folder: Path
    shape: tuple[int, ...]

    def get(self, key: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the frames under `key`; create and store them if they are not in the cache."""
        path = self.folder / hashlib.sha256(key.encode()).hexdigest()[:32]
        found = self._read(path)
        if found is not None:
            return found
        frames = make()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}.part")
            temporary.write_bytes(zlib.compress(frames.tobytes(), LEVEL))
            os.replace(temporary, path)  # without a flush: an entry damaged by a power cut is created again
        except OSError as error:
            said = f"frames cannot be cached in {self.folder}: {error.strerror or error}; the option cache=no turns caching off"
            warnings.warn(Remark(said), stacklevel=2)
        return frames

    def _read(self, path: Path) -> np.ndarray | None:
        size = math.prod(self.shape)
        try:
            unpacker = zlib.decompressobj()
            body = unpacker.decompress(path.read_bytes(), size + 1)
        except (OSError, zlib.error):
            return None
        if len(body) != size or not unpacker.eof:
            return None
        return np.frombuffer(body, np.uint8).reshape(self.shape).copy()
