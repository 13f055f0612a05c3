"""A part of results.h5: some samples of an unfinished run. The file is either complete or does not exist.

/                     attributes: fsnn_part, run (its digest), first, samples, detail, seconds, backend, graph, digest, data_sha256
/rows/…, /detail/…    as in results.h5
/found                uint8, JSON: what the comparison found about these samples
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from fsnn_lava.files.hdf5 import Hdf5Node, open_file, write_file
from fsnn_lava.formats.results_columns import Column
from fsnn_lava.formats.results_hashes import DataHash
from fsnn_lava.ir.result import Result

FORMAT = 1


@dataclass(frozen=True)
class Layout:
    """The arrays that all parts of a run have."""

    rows: tuple[Column, ...]
    details: tuple[Column, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """The results of samples first … first + samples - 1, with every neuron of the first `details` of them."""

    first: int
    samples: int
    details: int
    seconds: float
    origin: tuple[str, str, str]  # backend, graph, digest of the network
    columns: dict[str, NDArray[Any]]
    found: object  # as Comparator.hand_over returned it, JSON values; None without a comparison


def write_part(
    path: Path,
    layout: Layout,
    result: Result,
    values: NDArray[np.uint8],
    labels: NDArray[np.int64],
    *,
    run: str,
    first: int,
    details: int,
    found: object,
) -> None:
    """Write one batch of the run as a part, starting with sample `first`; BadFile if it does not fit on the disk."""
    data = DataHash()
    data.note(values, labels)
    few = result.part(slice(0, details))

    def fill(file: h5py.File) -> None:
        for column in layout.rows:
            column.store(file, column.of(result, values, labels))
        for column in layout.details if details else ():
            column.store(file, column.of(few, values[:details], labels[:details]))
        note = np.frombuffer(json.dumps(found).encode(), np.uint8)
        file.create_dataset("found", data=note, compression="gzip", compression_opts=1, fletcher32=True)
        numbers = {"fsnn_part": FORMAT, "first": first, "samples": result.samples, "detail": details, "seconds": result.seconds}
        texts = {"run": run, "backend": result.backend, "graph": result.graph, "digest": result.digest, "data_sha256": data.hexdigest()}
        file.attrs.update({**numbers, **texts})

    write_file(path, fill)


class PartFile:
    """An open, untrusted part."""

    def __init__(self, root: Hdf5Node, layout: Layout, *, run: str, first: int, samples: int) -> None:
        self._root, self._layout = root, layout
        if not root.has_attribute("fsnn_part") or root.integer("fsnn_part") != FORMAT:
            raise root.fail(f"not a part of a results file in format {FORMAT}")
        if root.text("run") != run:
            raise root.fail("it belongs to another run")
        if (root.integer("first"), root.integer("samples")) != (first, samples):
            raise root.fail(f"it does not contain samples {first} … {first + samples - 1}, as its name says")
        self.first, self.samples, self.details = first, samples, root.integer("detail")
        if not 0 <= self.details <= samples:
            raise root.fail(f"detail must be between 0 and {samples}, got {self.details}")
        self.data_sha256 = root.text("data_sha256")

    def load(self) -> Part:
        """Load everything in the part."""
        root = self._root
        columns = {column.name: column.stored(root, self.samples)[()] for column in self._layout.rows}
        if self.details:
            columns.update({column.name: column.stored(root, self.details)[()] for column in self._layout.details})
        try:
            found = json.loads(root.array("found", "u", (1,)).tobytes())
        except (ValueError, RecursionError) as error:
            raise root.fail(f"'found' must be JSON: {error}") from error
        return Part(
            first=self.first,
            samples=self.samples,
            details=self.details,
            seconds=root.number("seconds"),
            origin=(root.text("backend"), root.text("graph"), root.text("digest")),
            columns=columns,
            found=found,
        )


@contextmanager
def reading_part(path: Path, layout: Layout, *, run: str, first: int, samples: int) -> Iterator[PartFile]:
    """Yield an open part; BadFile unless it belongs to the run and contains these samples."""
    with open_file(path) as root:
        yield PartFile(root, layout, run=run, first=first, samples=samples)
