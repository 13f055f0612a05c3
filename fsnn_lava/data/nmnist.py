"""N-MNIST: MNIST recorded by a moving event camera, as frames of 3 ms.

A pixel of a frame is 1 if it had at least one event of that polarity in those 3 ms, as in the preprocessing that the paper follows
(several events at one pixel in one frame are rare). The first 30 frames are kept. Channel 0 contains the OFF events, channel 1 the ON
events. The drift of the saccades is not removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fsnn_lava.data.dataset import Dataset, Subscriptable
from fsnn_lava.data.search_path import damaged_file, find_folder, remedy
from fsnn_lava.errors import BadData
from fsnn_lava.nn.normalisation import Normalisation

PAGE = "https://www.garrickorchard.com/datasets/n-mnist"
SIDE = 34
FRAMES = 30
FRAME_MICROSECONDS = 3000
EVENT_BYTES = 5
MOST_BYTES = 2**24  # a recording of 300 ms has about 20 kB
EVENT = np.dtype([("x", int), ("y", int), ("t", int), ("p", int)])


@dataclass(frozen=True, eq=False, repr=False)
class NMnistSplit(Subscriptable):
    """N-MNIST recordings, which are read from their files when a batch needs them."""

    paths: tuple[Path, ...]
    labels: np.ndarray  # [N] int64
    shape: tuple[int, ...] = field(default=(FRAMES, 2, SIDE, SIDE), init=False)

    def __len__(self) -> int:
        return len(self.paths)

    def batch(self, indices: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        """Return the frames of these N-MNIST recordings."""
        chosen = np.arange(len(self))[indices if isinstance(indices, slice) else np.asarray(indices, np.int64)]
        frames = np.zeros((len(chosen), *self.shape), np.uint8)
        for row, index in enumerate(chosen):
            _draw(frames[row], self.paths[index])
        return frames


def load_nmnist(root: str | Path | None = None) -> Dataset:
    """Load N-MNIST from DIR/NMNIST/{Train,Test}/DIGIT/*.bin; any number of files is accepted."""
    folder = find_folder("nmnist", root, page=PAGE)
    return Dataset(
        name="nmnist",
        train=_split(folder / "Train"),
        test=_split(folder / "Test"),
        normalisation=Normalisation(1.0, (0.0,), (1.0,)),
        class_names=tuple("0123456789"),
        kind="events",
        source=folder,
    )


def _split(folder: Path) -> NMnistSplit:
    found = [(path, digit) for digit in range(10) for path in sorted((folder / str(digit)).glob("*.bin"))]
    if not found:
        raise BadData(f"data set 'nmnist': no recording was found at {folder}/DIGIT/*.bin. {remedy(PAGE)}")
    return NMnistSplit(tuple(path for path, _ in found), np.array([digit for _, digit in found], np.int64))


def _draw(frames: np.ndarray, path: Path) -> None:
    """Set frames[t, p, y, x], which start at zero, to 1 for every event of the recording that falls within them."""
    events = read_nmnist_events(path)
    time = events["t"] // FRAME_MICROSECONDS
    kept = time < len(frames)
    frames[time[kept], events["p"][kept], events["y"][kept], events["x"][kept]] = 1


def read_nmnist_events(path: Path) -> np.ndarray:
    """Read the events (x, y, t in microseconds, p) of one N-MNIST recording; all of them must lie on the sensor."""
    from tonic.io import read_mnist_file

    try:
        size = path.stat().st_size
        if not 0 < size <= MOST_BYTES or size % EVENT_BYTES:
            raise damaged_file(
                path, f"a recording must consist of whole {EVENT_BYTES}-byte events, at most {MOST_BYTES} bytes, got {size} bytes"
            )
        events = read_mnist_file(str(path), dtype=EVENT)
    except OSError as error:
        raise BadData(f"cannot read {path}: {error.strerror or error}") from error
    off_sensor = (events["x"] >= SIDE) | (events["y"] >= SIDE)
    if off_sensor.any():
        first = events[off_sensor][0]
        raise damaged_file(path, f"an event is at x = {first['x']}, y = {first['y']}, outside the {SIDE} x {SIDE} sensor")
    return np.asarray(events)
