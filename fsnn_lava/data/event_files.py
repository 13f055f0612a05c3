"""Files of event cameras, read by faery: .aedat4 (iniVation), .raw and .dat (Prophesee), .es (event stream).

faery is optional: `pip install fsnn-lava[events]`. On the recordings in its source repository, it agrees with aedat on .aedat4 and with
expelliarmus on .dat; for EVT 3, expelliarmus 1.1.12 reads timestamps twice as large as those of the same recording in .dat. A damaged
.aedat4 file can make faery abort the whole process, so these files are read in a separate process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from fsnn_lava.errors import BadData, FsnnError, PackageMissing

ENDINGS = (".aedat4", ".dat", ".es", ".raw")
EVENT = np.dtype([("x", np.int32), ("y", np.int32), ("t", np.int64), ("p", np.uint8)])
BYTES_MAX = 2**31
EVENTS_MAX = 2**26  # they take 1 GiB
CHILD_SECONDS = 600
REFUSED = 2  # exit code of the child process if it could not read any events
NOT_SAID = (65521, 65521)  # what faery returns for a file that does not contain the size of its sensor


def read_event_file(path: Path) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Read the events (x, y from the top, t in microseconds, p) of one file, and the width and height of its sensor if it states them."""
    _faery(path)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise BadData(f"cannot read {path}: {error.strerror or error}") from error
    if not 0 < size <= BYTES_MAX:
        raise BadData(f"{path} must be 1 to {BYTES_MAX} bytes long, got {size}")
    events, sensor = _read_in_a_child(path) if path.suffix == ".aedat4" else _decode(path)
    if not len(events):
        raise BadData(f"{path} contains no events")
    return events, None if sensor == NOT_SAID else sensor


def _decode(path: Path) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the events of a file and the size of its sensor, which is NOT_SAID if the file does not state it."""
    try:
        stream = _faery(path).events_stream_from_file(str(path), dimensions_fallback=NOT_SAID)
        width, height = stream.dimensions()
        return _joined(stream, path), (int(width), int(height))
    except (BadData, PackageMissing):
        raise
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a panic in compiled code is not an Exception
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadData(f"{path} is damaged or not a recording of events: {reason}") from error


def _read_in_a_child(path: Path) -> tuple[np.ndarray, tuple[int, int]]:
    """Decode an event file in a child process, which prints the sensor and the events as arrays, or an error message."""
    command = [sys.executable, "-m", "fsnn_lava.data.event_files", str(path.resolve())]
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, timeout=CHILD_SECONDS, check=False)
        if done.returncode == 0:
            output.seek(0)
            width, height = np.lib.format.read_array(output, allow_pickle=False)
            return np.lib.format.read_array(output, allow_pickle=False), (int(width), int(height))
    said = done.stderr.decode(errors="replace").strip().splitlines()
    if done.returncode == REFUSED and said:
        raise BadData(said[-1])
    raise BadData(f"{path} is damaged: its reader ended with code {done.returncode}")


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
            raise BadData(f"{path} contains more than {EVENTS_MAX} events: split the file")
        part = np.empty(len(packet), EVENT)
        for name, theirs in (("x", "x"), ("y", "y"), ("t", "t"), ("p", "on")):
            part[name] = packet[theirs]
        parts.append(part)
    return np.concatenate(parts) if parts else np.empty(0, EVENT)


def _main(path: str) -> int:
    """Decode an event file in the child process: print arrays on stdout, or an error message on stderr."""
    try:
        events, sensor = _decode(Path(path))
    except FsnnError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return REFUSED
    np.lib.format.write_array(sys.stdout.buffer, np.array(sensor), allow_pickle=False)
    np.lib.format.write_array(sys.stdout.buffer, events, allow_pickle=False)
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))
