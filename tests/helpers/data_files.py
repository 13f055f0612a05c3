"""Small data sets in the formats of the real ones, every pixel different enough to notice a transpose."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np


def idx_bytes(array: np.ndarray) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()


def write_idx(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = idx_bytes(array)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def random_images(count: int, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), np.uint8)


def write_mnist(root: Path, *, folder: str = "MNIST/raw", suffix: str = "") -> dict[str, np.ndarray]:
    """Twelve training and five test images; what was written, by file name."""
    content = {
        "train-images-idx3-ubyte": random_images(12, 28, 28),
        "train-labels-idx1-ubyte": np.arange(12) % 10,
        "t10k-images-idx3-ubyte": random_images(5, 28, 28, seed=1),
        "t10k-labels-idx1-ubyte": np.arange(5)[::-1] + 5,
    }
    for name, array in content.items():
        write_idx(root / folder / f"{name}{suffix}", array)
    return content


def cifar10_batches() -> dict[str, tuple[np.ndarray, list[int]]]:
    """Images [N, 3072] and labels of the six files of CIFAR-10, four images each."""
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    return {name: (random_images(4, 3072, seed=seed), [seed, 9, 0, seed + 1]) for seed, name in enumerate(names)}


def write_cifar10(root: Path) -> dict[str, tuple[np.ndarray, list[int]]]:
    """CIFAR-10 in the binary layout."""
    folder = root / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    batches = cifar10_batches()
    for name, (images, labels) in batches.items():
        np.concatenate([np.array(labels, np.uint8)[:, None], images], axis=1).tofile(folder / f"{name}.bin")
    return batches


def event_bytes(events: list[tuple[int, int, int, int]]) -> bytes:
    """Events (x, y, microseconds, polarity) as N-MNIST writes them: five bytes each."""
    rows = [(x, y, polarity << 7 | time >> 16, time >> 8 & 255, time & 255) for x, y, time, polarity in events]
    return bytes(byte for row in rows for byte in row)


def write_recording(path: Path, events: list[tuple[int, int, int, int]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(event_bytes(events))
