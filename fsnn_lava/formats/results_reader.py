"""Read results.h5 without trusting it: types and shapes are checked against its network before memory is allocated."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadFile
from fsnn_lava.files.hdf5 import Hdf5Node, open_file
from fsnn_lava.formats import netx
from fsnn_lava.formats.results_columns import FORMAT, Column, detail_columns, row_columns
from fsnn_lava.formats.results_hashes import ColumnHashes, DataHash
from fsnn_lava.formats.results_provenance import Provenance
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import executed_network
from fsnn_lava.limits import STEPS_MAX

NETWORK_BYTES_MAX = 2**29
SAMPLES_MAX = 2**31
GRAPHS = ("", "batched", "stock")  # "" on the emulator
HASHED_BYTES = 2**24  # bytes read at once


class ResultsReader:
    """An open results file: `row` reads a column of all samples, `detail` every neuron of the samples kept in detail."""

    def __init__(self, root: Hdf5Node) -> None:
        self._root = root
        if not root.has_attribute("fsnn_results"):
            raise root.fail("it is an HDF5 file, but not a results file: it has no attribute 'fsnn_results'")
        if root.integer("fsnn_results") != FORMAT:
            raise root.fail(
                f"it has results format {root.integer('fsnn_results')}, but this release reads format {FORMAT}: update fsnn-lava"
            )
        self.provenance = Provenance.of(root)
        if self.provenance.graph not in GRAPHS:
            raise root.fail(f"it is a run of the graph {self.provenance.graph!r}, which this release does not know: update fsnn-lava")
        self.samples, self.details = root.integer("samples"), root.integer("detail")
        self.has_spikes = root.integer("spikes") == 1
        steps = self.provenance.steps
        if not (1 <= steps <= STEPS_MAX and 0 <= self.details <= self.samples and 1 <= self.samples <= SAMPLES_MAX):
            raise root.fail(f"steps {steps}, samples {self.samples} and detail {self.details} are inconsistent")
        self.has_residual = root.has_attribute("residual") and root.integer("residual") == 1  # older files do not have the attribute
        self.hashes = ColumnHashes.read(root)  # None in older files
        self.chip = self._network()
        self._rows = row_columns(self.chip, steps=steps, residual_steps=steps if self.has_residual else 0)
        for column in self._rows:
            column.stored(root, self.samples)
        self._detailed = detail_columns(self.chip, steps, spikes=self.has_spikes)
        for column in self._detailed:
            column.stored(root, self.details)

    def row(self, name: str, first: int = 0, end: int | None = None) -> NDArray[Any]:
        """Read a column of /rows: labels (-1: unknown), predictions, logits, readout, … (see `row_columns`)."""
        column = next(c for c in self._rows if c.name == f"rows/{name}")
        return column.stored(self._root, self.samples)[first : self.samples if end is None else end]

    def changed_columns(self) -> list[str]:
        """Return the columns whose SHA-256 has changed since they were written, and "data" if values or labels differ from the run.

        A file without `hashes` has only the hash of the data, which needs the values of every sample.
        """
        kept = [c for c in (*self._rows, *self._detailed) if c.hashed and (self.details or c.name.startswith("rows/"))]
        changed = [] if self.hashes is None else [c.name for c in kept if self._sha256(c) != self.hashes.get(c.name)]
        if self.details == self.samples and self._data_sha256() != self.provenance.data_sha256:
            changed.append("data")
        return changed

    def _sha256(self, column: Column) -> str:
        hashes, rows = ColumnHashes(), self.samples if column.name.startswith("rows/") else self.details
        dataset, step = column.stored(self._root, rows), max(1, HASHED_BYTES // max(1, column.bytes))
        for first in range(0, max(rows, 1), step):
            hashes.note(column.name, dataset[first : first + step])
        return hashes.digests()[column.name]

    def _data_sha256(self) -> str:
        data, step = DataHash(), max(1, HASHED_BYTES // self._detailed[0].bytes)
        for first in range(0, self.details, step):
            end = min(self.details, first + step)
            data.note(self.values(first, end), self.row("labels", first, end))
        return data.hexdigest()

    def values(self, first: int = 0, end: int | None = None) -> NDArray[np.uint8]:
        """Read the raw inputs of samples kept in detail."""
        return self._details()["detail/values"][first : self.details if end is None else end]

    def detail(self, first: int = 0, end: int | None = None) -> Result:
        """Read the Result of samples first … end - 1 among those kept in detail."""
        end = self.details if end is None else end
        found = {name: dataset[first:end] for name, dataset in self._details().items() if name != "detail/values"}
        layers, late = range(len(self.chip.layers)), range(len(self.chip.feedback))
        delta, origin = self.chip.delta is not None, self.provenance
        counts = tuple(found[f"detail/layer/{i}/counts"].astype(np.int32) for i in layers)
        late_counts = tuple(found[f"detail/late/{i}/{'changes' if delta else 'counts'}"].astype(np.int32) for i in late)
        leaky = self.chip.decay > 0
        traces = "told" if delta else "traces" if leaky else "counts"
        return Result(
            backend=origin.backend,
            graph=origin.graph,
            steps=origin.steps,
            digest=origin.digest,
            weight_sum=self.chip.weight_sum(origin.steps),
            readout_scale=executed_network(self.chip, origin.graph).readout_scale,
            counts=counts,
            traces=tuple(found[f"detail/layer/{i}/{traces}"].astype(np.float64) for i in layers),
            late=late_counts,
            late_traces=tuple(found[f"detail/late/{i}/traces"] if leaky else late_counts[i].astype(np.float64) for i in late),
            potentials=tuple(found[f"detail/layer/{i}/potentials"] for i in layers),
            readout=self.row("readout", first, end),
            clipped=tuple(found[f"detail/layer/{i}/clipped"] for i in layers),
            clip_count=self.row("clip_count", first, end),
            operations=self.row("operations", first, end),
            updates=self.row("updates", first, end),
            spikes=tuple(found[f"detail/layer/{i}/spikes"] for i in layers) if self.has_spikes else None,
            residual=self.row("residual", first, end) if self.has_residual else None,
            messages=self.row("messages", first, end) if delta else None,
            cycles=self.row("cycles", first, end) if delta else None,
            seconds=origin.seconds * (end - first) / self.samples,
        )

    def _details(self) -> dict[str, h5py.Dataset]:
        return {column.name: column.stored(self._root, self.details) for column in self._detailed}

    def _network(self) -> ChipNetwork:
        dataset = self._root.dataset("network")
        if dataset.dtype != np.uint8 or dataset.ndim != 1 or dataset.size > NETWORK_BYTES_MAX:
            raise self._root.fail(f"'network' must hold the bytes of a network file, got {dataset.dtype} {dataset.shape}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network"
            path.write_bytes(dataset[()].tobytes())
            try:
                chip = netx.read_netx(path)
            except BadFile as error:
                raise self._root.fail(f"the network in the file is damaged: {str(error).replace(str(path), 'network')}") from error
        if self.provenance.graph != "stock" and chip.digest() != self.provenance.digest:
            raise self._root.fail(
                f"the network in the file has digest {chip.digest()[:12]}, but the run used {self.provenance.digest[:12]}"
            )
        return chip


@contextmanager
def reading_results(path: str | Path) -> Iterator[ResultsReader]:
    """Yield an open ResultsReader; BadFile if the file is missing, damaged or not a results file."""
    with open_file(path) as root:
        yield ResultsReader(root)


@dataclass(frozen=True, kw_only=True, eq=False)
class Results:
    """A results file in memory: `result`, `values` and `labels` of the samples kept in detail, `rows` of all samples."""

    provenance: Provenance
    chip: ChipNetwork
    samples: int
    rows: dict[str, NDArray[Any]]
    result: Result
    values: NDArray[np.uint8]
    labels: NDArray[np.int64] | None  # None if unknown


def read_results(path: str | Path) -> Results:
    """Read a whole results file into memory; use `reading_results` for one that is too large."""
    with reading_results(path) as reader:
        rows = {name: reader.row(name) for name in (column.name.split("/")[1] for column in reader._rows)}
        labels = rows["labels"][: reader.details]
        return Results(
            provenance=reader.provenance,
            chip=reader.chip,
            samples=reader.samples,
            rows=rows,
            result=reader.detail(),
            values=reader.values(),
            labels=None if (labels < 0).any() else labels,
        )
    raise BadFile(f"{path} could not be read")
