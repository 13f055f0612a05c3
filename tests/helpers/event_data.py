"""Small event data sets, laid out as tonic lays out the real ones, and files of event cameras."""

from __future__ import annotations

import struct
from pathlib import Path

import h5py
import numpy as np

from tests.helpers.data_files import write_recording

Events = list[tuple[int, int, int, int]]  # x, y, microseconds, polarity


def random_events(seed: int, *, side: int, count: int = 40, duration: int = 90_000) -> Events:
    """Sorted by time, the first at 0."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, duration, count))
    times[0] = 0
    columns = (rng.integers(0, side, count), rng.integers(0, side, count), times, rng.integers(0, 2, count))
    return [(int(x), int(y), int(t), int(p)) for x, y, t, p in zip(*columns)]


def write_nmnist(root: Path, *, digits: int = 3, each: int = 2) -> dict[Path, Events]:
    written = {}
    for part in ("Train", "Test"):
        for number in range(digits * each):
            path = root / "NMNIST" / part / str(number % digits) / f"{number:05d}.bin"
            written[path] = random_events(number + (100 if part == "Test" else 0), side=34)
            write_recording(path, written[path])
    return written


def write_dvs_gesture(root: Path) -> dict[Path, Events]:
    """One .npy file per gesture: x, y, polarity and milliseconds."""
    written = {}
    for part in ("ibmGestureTrain", "ibmGestureTest"):
        for user in ("user01_fluorescent", "user02_lab"):
            for label in (0, 7, 10):
                path = root / "DVSGesture" / part / user / f"{label}.npy"
                path.parent.mkdir(parents=True, exist_ok=True)
                events = random_events(label, side=128, duration=90)
                np.save(path, np.array([(x, y, p, t) for x, y, t, p in events], np.float64))
                written[path] = [(x, y, 1000 * t, p) for x, y, t, p in events]
    return written


def write_shd(root: Path) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Times in seconds, units and label of every test recording."""
    folder = root / "SHD"
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "test"):
        recordings = [
            (np.sort(np.random.default_rng(seed).random(20)).astype(np.float16), np.arange(20) * 35 + seed, (3 * seed) % 20)
            for seed in range(4)
        ]
        with h5py.File(folder / f"shd_{part}.h5", "w") as file:
            ragged = {"spikes/times": np.dtype("float16"), "spikes/units": np.dtype("uint16")}
            for (name, dtype), column in zip(ragged.items(), (0, 1)):
                data = file.create_dataset(name, (len(recordings),), dtype=h5py.vlen_dtype(dtype))
                for row, recording in enumerate(recordings):
                    data[row] = recording[column]
            file["labels"] = np.array([label for _, _, label in recordings], np.uint16)
            file["extra/keys"] = np.array([f"word {number}".encode() for number in range(20)])
            file["extra/speaker"] = np.zeros(len(recordings), np.uint16)
    return recordings


def write_caltech(root: Path) -> None:
    """Recordings of different sizes, without a test split."""
    for name in ("airplanes", "ant"):
        for number in range(6):
            path = root / "NCALTECH101" / "Caltech101" / name / f"image_{number:04d}.bin"
            write_recording(path, random_events(number, side=30))


def dat_bytes(events: Events, *, width: int, height: int) -> bytes:
    """Prophesee's DAT, version 2: text lines, type and size of an event, then 32 bits of time and 32 of x, y and polarity."""
    header = f"% Data file containing CD events.\n% Version 2\n% Width {width}\n% Height {height}\n".encode()
    body = b"".join(struct.pack("<II", t, x | y << 14 | p << 28) for x, y, t, p in events)
    return header + bytes((0x0C, 8)) + body
