"""The file results.h5, a run with its provenance: one row per sample, every neuron of the first `detail` samples, and the network.

    /             attributes: backend, graph, steps, digest, samples, detail, data, data_sha256, command, date, versions, …
    /network      uint8, the bytes of net.h5
    /rows/…       one row per sample: labels, predictions, logits, readout, operations, updates, clip_count, layer_spikes, residual
    /detail/…     values; layer/<i>/{counts, traces, potentials, clipped, spikes}; late/<i>/{counts, traces}
    with delta encoding also /rows/{messages, cycles}, /detail/layer/<i>/told, and /detail/late/<i>/changes instead of counts

Traces of a network without a leak equal its counts and are not stored. The file is written batch by batch, and appears when it is
complete.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.formats import netx
from fsnn_lava.formats.results_columns import FORMAT, Column, detail_columns, row_columns
from fsnn_lava.formats.results_hashes import ColumnHashes, DataHash
from fsnn_lava.formats.results_part import Part
from fsnn_lava.formats.results_provenance import Provenance, provenance_versions
from fsnn_lava.formats.results_reader import Results, ResultsReader, read_results, reading_results
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result

__all__ = [
    "Provenance",
    "Results",
    "ResultsReader",
    "ResultsWriter",
    "default_results_detail",
    "read_results",
    "reading_results",
    "write_results",
    "writing_results",
]

DETAIL = 1000
SPARE_BYTES = 2**22  # for the network, HDF5's own tables and the last chunks
DETAIL_BYTES = 2**29  # the default `detail` takes no more than this, before compression


def default_results_detail(chip: ChipNetwork, steps: int, *, spikes: bool) -> int:
    """Return how many samples a results file keeps in detail: DETAIL, or fewer if they are large, but at least one."""
    size = sum(column.bytes for column in detail_columns(chip, steps, spikes=spikes))
    return max(1, min(DETAIL, DETAIL_BYTES // size))


@contextmanager
def writing_results(
    path: str | Path,
    chip: ChipNetwork,
    *,
    steps: int,
    data: str = "",
    command: str | None = None,
    detail: int | None = None,
    spikes: bool = False,
    residual: bool = False,
) -> Iterator[ResultsWriter]:
    """Yield a ResultsWriter; the file appears at `path` if the block succeeds; if it raises, an existing file is left unchanged."""
    require_room_for_results(Path(path), 0)
    with atomic_path(path) as temporary, h5py.File(temporary, "w") as file:
        keep = default_results_detail(chip, steps, spikes=spikes) if detail is None else detail
        writer = ResultsWriter(file, chip, steps=steps, detail=keep, spikes=spikes, residual=residual)
        yield writer
        writer.finish(data=data, command=" ".join(sys.argv) if command is None else command)


def write_results(
    path: str | Path,
    result: Result,
    chip: ChipNetwork,
    values: NDArray[np.uint8],
    *,
    labels: NDArray[np.int64] | None = None,
    data: str = "",
    command: str | None = None,
    detail: int | None = None,
) -> None:
    """Write the results of one finished run to a file; the options are those of `writing_results`."""
    with writing_results(
        path,
        chip,
        steps=result.steps,
        data=data,
        command=command,
        detail=detail,
        spikes=result.spikes is not None,
        residual=result.residual is not None,
    ) as writer:
        writer.add(result, values, labels)


class ResultsWriter:
    """Writes a run batch by batch."""

    def __init__(self, file: h5py.File, chip: ChipNetwork, *, steps: int, detail: int, spikes: bool, residual: bool = False) -> None:
        if detail < 0:
            raise BadArgument(f"detail must be at least 0, got {detail}")
        self._file, self._chip, self._steps, self._detail, self._spikes = file, chip, steps, detail, spikes
        self._samples = self._kept = 0
        self._seconds = 0.0
        self.data = DataHash()
        self._hashes = ColumnHashes()
        self._origin: tuple[str, str, str] | None = None
        self._residual = residual
        self._rows = row_columns(chip, steps=steps, residual_steps=steps if residual else 0)
        self._details = detail_columns(chip, steps, spikes=spikes)
        for column in self._rows + self._details:
            column.create(file)

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None:
        """Append the samples of one batch; labels of -1 are unknown."""
        origin = (result.backend, result.graph, result.digest)
        if result.steps != self._steps or (self._origin or origin) != origin:
            raise BadArgument(f"every batch of a results file must have the same backend, graph and network, and {self._steps} steps")
        if len(values) != result.samples or (labels is not None and len(labels) != result.samples):
            raise BadArgument(
                f"a batch of {result.samples} results needs the same number of values (and of labels, if given); got {len(values)} values"
            )
        self._origin = origin
        rest = min(self._detail - self._kept, result.samples)
        self._require_room(result.samples, rest)
        known = np.full(result.samples, -1, np.int64) if labels is None else np.asarray(labels, np.int64)
        self.data.note(values, known)
        for column in self._rows:
            self._append(column, self._samples, column.of(result, values, known))
        if rest > 0:
            few = result.part(slice(0, rest))
            for column in self._details:
                self._append(column, self._kept, column.of(few, values[:rest], known[:rest]))
            self._kept += rest
        self._samples += result.samples
        self._seconds += result.seconds

    def _append(self, column: Column, at: int, rows: NDArray[Any]) -> None:
        rows = rows.astype(column.dtype, copy=False)
        column.append(self._file, at, rows)
        if column.hashed:
            self._hashes.note(column.name, rows)

    def _require_room(self, samples: int, details: int) -> None:
        row, detail = (sum(column.bytes for column in columns) for columns in (self._rows, self._details))
        require_room_for_results(Path(self._file.filename), samples * row + max(details, 0) * detail)

    def join(self, part: Part) -> None:
        """Append the samples of a part of this run; the caller updates `data`."""
        if (self._origin or part.origin) != part.origin:
            raise BadArgument("only parts of the same run can be joined: backend, graph and network must be the same")
        self._origin = part.origin
        rest = min(self._detail - self._kept, part.details)
        self._require_room(part.samples, rest)
        for column in self._rows:
            self._append(column, self._samples, part.columns[column.name])
        if rest > 0:
            for column in self._details:
                self._append(column, self._kept, part.columns[column.name][:rest])
            self._kept += rest
        self._samples += part.samples
        self._seconds += part.seconds

    def finish(self, *, data: str, command: str) -> None:
        """Write the network and the provenance."""
        if self._origin is None:
            raise BadArgument("there is nothing to write: no samples were run")
        backend, graph, digest = self._origin
        image = np.frombuffer(_image(self._chip), dtype=np.uint8)
        self._file.create_dataset("network", data=image, chunks=(min(len(image), 2**20),), compression="gzip", compression_opts=1)
        origin = Provenance(
            backend=backend,
            graph=graph,
            steps=self._steps,
            digest=digest,
            data=data,
            data_sha256=self.data.hexdigest(),
            command=command,
            date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            versions=provenance_versions(),
            seconds=self._seconds,
        )
        kept = {"spikes": int(self._spikes), "residual": int(self._residual)}
        numbers = {"fsnn_results": FORMAT, "samples": self._samples, "detail": self._kept, **kept}
        self._file.attrs.update({**numbers, **origin.attributes(), "sha256": self._hashes.to_json()})


def require_room_for_results(path: Path, size: int) -> None:
    """Raise BadFile if the disk has no room for a results file of `size` bytes plus overhead: libhdf5 may crash if a write fails."""
    folder = path.parent if path.parent.is_dir() else Path(".")
    free = shutil.disk_usage(folder).free
    if free < size + SPARE_BYTES:
        raise BadFile(f"cannot write {path.name}: {free} bytes are free in {folder}, {size + SPARE_BYTES} are needed; choose another --out")


def _image(chip: ChipNetwork) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        netx.write_netx(chip, Path(folder) / "net.h5")
        return (Path(folder) / "net.h5").read_bytes()
