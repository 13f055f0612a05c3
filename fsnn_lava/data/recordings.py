"""Event recordings, which are read and converted to frames when a batch needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsnn_lava.data.dataset import Subscriptable
from fsnn_lava.data.event_frames import Framing
from fsnn_lava.data.frame_cache import FrameCache


@dataclass(frozen=True, eq=False, repr=False)
class RecordingSplit(Subscriptable):
    """One recording per sample; `read(index)` returns its events, and `names[index]` is the name of its file."""

    read: Callable[[int], np.ndarray]
    names: tuple[str, ...]
    labels: np.ndarray  # [N] int64
    framing: Framing
    cache: FrameCache | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the frames of one recording."""
        return self.framing.shape

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, indices: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        """Return the frames of these recordings."""
        chosen = np.arange(len(self))[indices if isinstance(indices, slice) else np.asarray(indices, np.int64)]
        return np.stack([self._frames(int(index)) for index in chosen]) if len(chosen) else np.zeros((0, *self.shape), np.uint8)

    def _frames(self, index: int) -> np.ndarray:
        if self.cache is None:
            return self._drawn(index)
        return self.cache.get(f"{_identity(self.names[index])} {self.framing}", lambda: self._drawn(index))

    def _drawn(self, index: int) -> np.ndarray:
        return self.framing.draw(self.read(index), where=self.names[index])


def _identity(name: str) -> str:
    """Return a recording's name with the size and modification time of its file, if there is one, so that a changed file is read again."""
    try:
        found = Path(name.partition("#")[0]).stat()
    except OSError:
        return name
    return f"{name} {found.st_size} {found.st_mtime_ns}"
