"""Frames of an event recording: the first T of them; each is a time window, a number of events, or an equal share of the recording."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fsnn_lava.data.source import FRAMES_MAX, Source
from fsnn_lava.errors import BadData

DEFAULT_FRAMES = 30
COUNT_MAX = 255
OPTIONS = ("frames", "window", "events", "values", "size", "sensor", "cache")
MICROSECONDS_MAX = 10**12


@dataclass(frozen=True)
class Framing:
    """How events (x, y, t, p) become frames [T, P, H, W] of uint8, or [T, N] if there is one row and one polarity.

    With `window`, a frame lasts that many microseconds; with `events`, it contains that many events; otherwise the recording is divided
    into `frames` equal time spans. Time starts with the first event; missing frames are empty. With `values` "binary", a pixel is 1 if
    an event happened there; with "counts", it is the number of events, at most 255. Channel 0 contains OFF events, channel 1 ON events.
    """

    sensor: tuple[int, int, int]  # width, height, polarities
    frames: int = DEFAULT_FRAMES
    window: int = 0  # microseconds
    events: int = 0  # per frame
    values: str = "binary"
    size: tuple[int, int] | None = None  # width and height to reduce the sensor to

    @staticmethod
    def of(source: Source, sensor: tuple[int, int, int]) -> Framing:
        """Return the framing that the options of a data set describe."""
        return Framing(
            sensor=sensor,
            frames=source.whole("frames", DEFAULT_FRAMES, high=FRAMES_MAX),
            window=source.whole("window", 0, high=MICROSECONDS_MAX),
            events=source.whole("events", 0, high=MICROSECONDS_MAX),
            values=source.choice("values", ("binary", "counts")),
            size=source.sides("size"),
        )

    def __post_init__(self) -> None:
        if self.window and self.events:
            raise BadData(f"a frame is a time window or a number of events: give window={self.window} or events={self.events}, not both")
        if self.size is not None and (self.size[0] > self.sensor[0] or self.size[1] > self.sensor[1]):
            raise BadData(f"size {_times(self.size)} is larger than the sensor, {_times(self.sensor[:2])}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a sample of frames."""
        (width, height), polarities = self.size or self.sensor[:2], self.sensor[2]
        return (self.frames, width) if height == polarities == 1 else (self.frames, polarities, height, width)

    def draw(self, events: np.ndarray, *, where: str) -> np.ndarray:
        """Draw the frames of one event recording; BadData if an event is outside the sensor."""
        (width, height), (full_width, full_height, polarities) = self.size or self.sensor[:2], self.sensor
        x = events["x"].astype(np.int64)
        y = events["y"].astype(np.int64) if "y" in (events.dtype.names or ()) else np.zeros_like(x)
        polarity = (events["p"] > 0).astype(np.int64) if polarities == 2 else np.zeros_like(x)
        off = (x < 0) | (x >= full_width) | (y < 0) | (y >= full_height)
        if off.any():
            first = int(np.argmax(off))
            raise BadData(f"{where}: an event is at x = {x[first]}, y = {y[first]}, outside the sensor of {_times(self.sensor[:2])} pixels")
        frame = self._frame(events["t"].astype(np.int64))
        kept = frame < self.frames
        place = ((frame * polarities + polarity) * height + y * height // full_height) * width + x * width // full_width
        counts = np.bincount(place[kept], minlength=math.prod(self.shape))
        return np.minimum(counts, 1 if self.values == "binary" else COUNT_MAX).astype(np.uint8).reshape(self.shape)

    def _frame(self, time: np.ndarray) -> np.ndarray:
        """Return the frame index of every event."""
        if not len(time):
            return time
        if self.events:
            rank = np.empty(len(time), np.int64)
            rank[np.argsort(time, kind="stable")] = np.arange(len(time))
            return rank // self.events
        since = time - time.min()
        if self.window:
            return since // self.window
        return (since * (self.frames / (float(since.max()) + 1.0))).astype(np.int64)


def _times(sides: tuple[int, ...]) -> str:
    return " x ".join(map(str, sides))
