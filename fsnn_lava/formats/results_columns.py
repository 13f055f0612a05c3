"""The columns of results.h5; their names, types and shapes depend only on the network and the number of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.files.hdf5 import Hdf5Node
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result

FORMAT = 1
CHUNK_BYTES = 2**19
CHUNK_BYTES_MAX = 2**26  # largest chunk accepted in a file that is read

Take = Callable[[Result, NDArray[np.uint8], NDArray[np.int64]], NDArray[Any]]


@dataclass(frozen=True)
class Column:
    """One array [samples, *shape], and a function that takes its values from (result, values, labels)."""

    name: str
    dtype: type
    shape: tuple[int, ...]
    of: Take

    @property
    def hashed(self) -> bool:
        """Whether the file keeps the column's SHA-256, because the comparator cannot recompute it from other columns."""
        return self.name.startswith("rows/") or self.name == "detail/values"

    @property
    def bytes(self) -> int:
        """Bytes of one sample."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    @property
    def _options(self) -> dict[str, Any]:
        rows = max(1, min(1024, CHUNK_BYTES // max(1, self.bytes)))
        several = np.dtype(self.dtype).itemsize > 1
        return {"maxshape": (None, *self.shape), "chunks": (rows, *self.shape), "dtype": self.dtype, "shuffle": several}

    def create(self, file: h5py.File) -> None:
        """Create the column's empty dataset in a results file."""
        file.create_dataset(self.name, shape=(0, *self.shape), compression="gzip", compression_opts=1, **self._options)

    def append(self, file: h5py.File, at: int, rows: NDArray[Any]) -> None:
        """Append rows to the column, from row `at` on."""
        dataset = file[self.name]
        dataset.resize(at + len(rows), axis=0)
        dataset[at:] = rows

    def store(self, file: h5py.File, rows: NDArray[Any]) -> None:
        """Store all rows with checksums; speed matters more than size."""
        file.create_dataset(self.name, data=rows.astype(self.dtype, copy=False), compression="lzf", fletcher32=True, **self._options)

    def stored(self, root: Hdf5Node, rows: int) -> h5py.Dataset:
        """Return the column in an untrusted file; BadFile unless its type and shape are correct."""
        *groups, last = self.name.split("/")
        node = root
        for group in groups:
            node = node.group(group)
        dataset = node.dataset(last)
        wanted = (rows, *self.shape)
        if dataset.dtype != np.dtype(self.dtype) or dataset.shape != wanted:
            raise node.fail(f"{last!r} must be {np.dtype(self.dtype)} {wanted}, got {dataset.dtype} {dataset.shape}")
        chunk = int(np.prod(dataset.chunks or (1,), dtype=object)) * dataset.dtype.itemsize
        if chunk > max(CHUNK_BYTES_MAX, 2 * self.bytes):
            raise node.fail(f"{last!r} is stored in chunks of {chunk} bytes, which is too large")
        return dataset


def row_columns(chip: ChipNetwork, *, steps: int, residual_steps: int = 0) -> tuple[Column, ...]:
    """Return the columns kept for every sample of a run of `steps` steps, with the residual after each of `residual_steps` steps."""
    classes, layers = chip.readout.classes, len(chip.layers)
    more = [Column("rows/residual", np.float64, (residual_steps,), lambda r, v, y: _curve(r))] if residual_steps else []
    if chip.delta is not None:
        more.append(Column("rows/messages", np.int32, (steps,), lambda r, v, y: _of_messages(r.messages)))
        more.append(Column("rows/cycles", np.int32, (), lambda r, v, y: _of_messages(r.cycles)))
    return (
        Column("rows/labels", np.int64, (), lambda r, v, labels: labels),
        Column("rows/predictions", np.int64, (), lambda r, v, y: r.predictions),
        Column("rows/logits", np.float64, (classes,), lambda r, v, y: r.logits),
        Column("rows/readout", np.int32, (classes,), lambda r, v, y: r.readout),
        Column("rows/operations", np.int64, (), lambda r, v, y: r.operations),
        Column("rows/updates", np.int64, (), lambda r, v, y: r.updates),
        Column("rows/clip_count", np.int64, (layers + 1,), lambda r, v, y: r.clip_count),
        Column("rows/layer_spikes", np.int64, (layers,), lambda r, v, y: _layer_spikes(r)),
        *more,
    )


def detail_columns(chip: ChipNetwork, steps: int, *, spikes: bool) -> tuple[Column, ...]:
    """Return the columns kept only for the first samples: every neuron."""
    inputs = (steps, *chip.input.shape) if chip.input.kind == "events" else chip.input.shape
    columns = [Column("detail/values", np.uint8, inputs, lambda r, values, y: values)]
    change = np.int16 if chip.delta is not None else np.uint8
    for i, layer in enumerate(chip.layers):
        columns += _neurons(f"detail/layer/{i}", layer.shape, i, "counts", "traces", leaky=chip.decay > 0)
        if chip.delta is not None:
            columns.append(Column(f"detail/layer/{i}/told", np.int32, layer.shape, lambda r, v, y, i=i: r.traces[i]))  # type: ignore[misc]
        columns.append(Column(f"detail/layer/{i}/potentials", np.int32, layer.shape, lambda r, v, y, i=i: r.potentials[i]))  # type: ignore[misc]
        columns.append(Column(f"detail/layer/{i}/clipped", np.uint8, layer.shape, lambda r, v, y, i=i: r.clipped[i]))  # type: ignore[misc]
        if spikes:
            train = (steps, *layer.shape)
            columns.append(Column(f"detail/layer/{i}/spikes", change, train, lambda r, v, y, i=i: r.spikes[i]))  # type: ignore[misc]
    for i, synapse in enumerate(chip.feedback):
        shape = chip.layer(synapse.source).shape
        if chip.delta is not None:
            columns.append(Column(f"detail/late/{i}/changes", np.int32, shape, lambda r, v, y, i=i: r.late[i]))  # type: ignore[misc]
        else:
            columns += _neurons(f"detail/late/{i}", shape, i, "late", "late_traces", leaky=chip.decay > 0)
    return tuple(columns)


def _neurons(name: str, shape: tuple[int, ...], i: int, counts: str, traces: str, *, leaky: bool) -> list[Column]:
    columns = [Column(f"{name}/counts", np.uint16, shape, lambda r, v, y: getattr(r, counts)[i])]
    if leaky:
        columns.append(Column(f"{name}/traces", np.float64, shape, lambda r, v, y: getattr(r, traces)[i]))
    return columns


def _of_messages(found: NDArray[np.int32] | None) -> NDArray[np.int32]:
    if found is None:
        raise BadArgument("the network has delta encoding, but its result does not record when messages were sent")
    return found


def _curve(result: Result) -> NDArray[np.float64]:
    if result.residual is None:
        raise BadArgument("the residual after every step was requested, but the run did not compute it")
    return result.residual


def _layer_spikes(result: Result) -> NDArray[np.int64]:
    """Return the spikes of each layer in its window, [B, layers]."""
    return np.stack([counts.reshape(len(counts), -1).sum(axis=1, dtype=np.int64) for counts in result.counts], axis=1)
