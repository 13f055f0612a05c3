"""Read and write the files of a job on the chip, all in one folder: network, inputs, options and the result."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BackendFailed
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result

_TUPLES = ("counts", "traces", "late", "late_traces", "potentials", "clipped", "spikes")
_ARRAYS = ("readout", "clip_count", "operations", "updates")
_DELTA_ARRAYS = ("messages", "cycles")  # only with delta encoding


@dataclass(frozen=True, kw_only=True)
class ChipJob:
    """The options of a job; network and inputs are in separate files."""

    steps: int
    spikes: bool = False
    partition: str | None = None
    board: str | None = None
    address: str | None = None
    generation: str | None = None
    profile: bool = False


def write_job(folder: Path, job: ChipJob, chip: ChipNetwork, values: NDArray[np.uint8]) -> None:
    """Write the files of a job for the worker process: its options, the network and the samples."""
    chip.save(folder / "network.h5")
    np.save(folder / "values.npy", values)
    (folder / "job.json").write_text(json.dumps(asdict(job)), encoding="utf-8")


def read_job(folder: Path) -> tuple[ChipJob, ChipNetwork, NDArray[np.uint8]]:
    """Read the job files in a folder: options, network and samples."""
    job = ChipJob(**json.loads((folder / "job.json").read_text(encoding="utf-8")))
    return job, ChipNetwork.load(folder / "network.h5"), np.load(folder / "values.npy")


def write_result(folder: Path, result: Result) -> None:
    """Write the Result of a finished job to the job's folder."""
    arrays = {name: getattr(result, name) for name in (*_ARRAYS, *_DELTA_ARRAYS) if getattr(result, name) is not None}
    for name in _TUPLES:
        for number, array in enumerate(getattr(result, name) or ()):
            arrays[f"{name}.{number}"] = array
    np.savez(folder / "result.npz", seconds=np.array(result.seconds), **arrays)


def read_result(folder: Path, chip: ChipNetwork, steps: int) -> Result:
    """Read the Result of a finished job from its files; raise BackendFailed if there is none."""
    try:
        with np.load(folder / "result.npz") as file:
            found = dict(file)
    except (OSError, ValueError, EOFError, BadZipFile) as error:  # the job may have been killed while writing
        raise BackendFailed(f"backend 'loihi2': the job ended without a result ({error})") from error
    parts: dict[str, Any] = {name: _tuple(found, name) for name in _TUPLES}
    parts["spikes"] = parts["spikes"] or None
    return Result(
        backend="loihi2",
        graph="stock",
        steps=steps,
        digest=chip.digest(),
        weight_sum=chip.weight_sum(steps),
        readout_scale=chip.readout_scale,
        seconds=float(found["seconds"]),
        **parts,
        **{name: found[name] for name in _ARRAYS},
        messages=found.get("messages"),
        cycles=found.get("cycles"),
    )


def _tuple(found: dict[str, NDArray[Any]], name: str) -> tuple[NDArray[Any], ...]:
    numbers = sorted(int(key.split(".")[1]) for key in found if key.startswith(f"{name}."))
    return tuple(found[f"{name}.{number}"] for number in numbers)
