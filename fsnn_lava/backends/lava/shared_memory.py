"""Anonymous memory shared by forked processes: it leaves nothing behind in /dev/shm and is not limited by the size of /dev/shm."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fsnn_lava.errors import BackendFailed


def shared_array(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return zeros in memory shared by this process and every process forked from it later; freed when the last of them ends."""
    kind = np.dtype(dtype)
    length = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(_mapping(length * kind.itemsize), dtype=kind, count=length).reshape(shape)


def _mapping(size: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, max(size, 1))
    except (OSError, ValueError, OverflowError) as error:
        raise BackendFailed(f"cannot allocate {size / 2**20:.0f} MiB of shared memory ({error}); use a smaller batch") from error


class ChannelMemory:
    """Replaces Lava's SharedMemoryManager: memory for channels that needs neither names nor a manager process."""

    def start(self) -> None:
        """Do nothing; there is nothing to start."""

    def shutdown(self) -> None:
        """Do nothing; shared memory is freed with its last user."""

    def create_shared_memory(self, size: int) -> ChannelBlock:
        """Create a block of shared memory for a channel; called by Lava."""
        return ChannelBlock(size)


class ChannelBlock:
    """The part of multiprocessing's SharedMemory that channels use."""

    def __init__(self, size: int) -> None:
        self.buf = memoryview(_mapping(size))

    def close(self) -> None:
        """Do nothing; there is nothing to close."""
