"""Files of event cameras, read by faery: .aedat4 (iniVation), .raw and .dat (Prophesee), .es (event stream).

faery is optional: `pip install fsnn-lava[events]`. On the recordings that come with its sources it agrees with aedat, event_stream and, for
.dat and EVT 2, expelliarmus; the timestamps that expelliarmus 1.1.12 reads from EVT 3 run away.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fsnn_lava.errors import BadData, PackageMissing

ENDINGS = (".aedat4", ".dat", ".es", ".raw")
EVENT = np.dtype([("x", np.int32), ("y", np.int32), ("t", np.int64), ("p", np.uint8)])
BYTES_MAX = 2**31
EVENTS_MAX = 2**26  # 1 GiB of them
NOT_SAID = (65521, 65521)  # what faery is told to return for a file that does not say the size of its sensor


def read_event_file(path: Path) -> tuple[np.ndarray, tuple[int, int] | None]:
    """The events (x, y from the top, t in microseconds, p) of one file, and width and height of its sensor where the file says them."""
    faery = _faery(path)
    try:
        size = path.stat().st_size
        if not 0 < size <= BYTES_MAX:
            raise BadData(f"{path} must have between 1 and {BYTES_MAX} bytes, got {size}")
        stream = faery.events_stream_from_file(str(path), dimensions_fallback=NOT_SAID)
        sensor = tuple(map(int, stream.dimensions()))
        events = _joined(stream, path)
    except BadData:
        raise
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a panic of compiled code is no Exception
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadData(f"{path} is damaged or not a recording of events: {reason}") from error
    if not len(events):
        raise BadData(f"{path} holds no events")
    return events, None if sensor == NOT_SAID else (sensor[0], sensor[1])


def _faery(path: Path) -> Any:
    try:
        import faery
    except ImportError as error:
        raise PackageMissing(f"{path.suffix} files need the package faery ({error}): pip install fsnn-lava[events]") from error
    return faery


def _joined(stream: Any, path: Path) -> np.ndarray:
    parts, count = [], 0
    for packet in stream:
        count += len(packet)
        if count > EVENTS_MAX:
            raise BadData(f"{path} holds more than {EVENTS_MAX} events: split it")
        part = np.empty(len(packet), EVENT)
        for name, theirs in (("x", "x"), ("y", "y"), ("t", "t"), ("p", "on")):
            part[name] = packet[theirs]
        parts.append(part)
    return np.concatenate(parts) if parts else np.empty(0, EVENT)
