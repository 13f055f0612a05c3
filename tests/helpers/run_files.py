"""A small network with samples for it, and what two results files of the same run must share."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.helpers.chip_networks import conv_network

SAMPLES = 36
CHANGING = {"date", "seconds", "command"}  # attributes that differ between two runs of the same


def write_inputs(folder: Path, *, decay: int = 80, seed: int = 1) -> None:
    """net.h5 and own.npz."""
    chip, rng = conv_network(seed, decay=decay), np.random.default_rng(seed)
    chip.save(folder / "net.h5")
    values = rng.integers(0, 256, (SAMPLES, *chip.input.shape), np.uint8)
    np.savez(folder / "own.npz", x=values, y=rng.integers(0, chip.readout.classes, SAMPLES))


def arguments(folder: Path, out: str, *more: str) -> list[str]:
    files = [str(folder / "net.h5"), "--data", str(folder / "own.npz"), "--out", str(folder / out)]
    return [*files, "--backend", "emu", "--batch", "4", "--detail", "30", *more]


def content(path: Path) -> dict[str, object]:
    """Every array and attribute of a file, but for what changes from run to run."""
    found: dict[str, object] = {}
    with h5py.File(path, "r") as file:
        found.update({f"@{name}": str(value) for name, value in file.attrs.items() if name not in CHANGING})
        file.visititems(lambda name, item: found.update({name: _bytes(item)}) if isinstance(item, h5py.Dataset) else None)
    return found


def _bytes(item: h5py.Dataset) -> tuple[str, tuple[int, ...], bytes]:
    return str(item.dtype), item.shape, item[()].tobytes()
