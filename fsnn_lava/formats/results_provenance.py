"""Provenance of a run: network, data, versions, backend, command, date."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.files.hdf5 import Hdf5Node

PACKAGES = ("numpy", "numba", "h5py", "torch", "lava-nc")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a run was made from, and with which software."""

    backend: str
    graph: str
    steps: int
    digest: str  # of the network that ran
    data: str  # name of the data set, or of its file
    data_sha256: str  # SHA-256 of the SHA-256 of all values followed by that of all labels (int64)
    command: str
    date: str  # ISO 8601, UTC
    versions: dict[str, str]
    seconds: float  # of the run itself

    def attributes(self) -> dict[str, Any]:
        """As attributes of a results file; bytes of a file name that are not UTF-8 become \\udcXX, because HDF5 strings must be UTF-8."""
        values = {**asdict(self), "versions": json.dumps(self.versions)}
        return {name: v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v for name, v in values.items()}

    @staticmethod
    def of(root: Hdf5Node) -> Provenance:
        """The provenance in the attributes of a results file."""
        try:
            versions = json.loads(root.text("versions"))
        except json.JSONDecodeError as error:
            raise root.fail(f"attribute 'versions' must be JSON: {error}") from error
        if not isinstance(versions, dict):
            raise root.fail("attribute 'versions' must be a JSON object")
        texts = {name: root.text(name) for name in ("backend", "graph", "digest", "data", "data_sha256", "command", "date")}
        return Provenance(
            **texts, steps=root.integer("steps"), versions={str(k): str(v) for k, v in versions.items()}, seconds=root.number("seconds")
        )


class ColumnHashes:
    """The SHA-256 of columns of a results file, added batch by batch; it does not depend on how they are split."""

    def __init__(self) -> None:
        self._hashes: dict[str, hashlib._Hash] = {}

    def note(self, name: str, rows: NDArray[Any]) -> None:
        """Add rows to the hash of a column."""
        self._hashes.setdefault(name, hashlib.sha256()).update(np.ascontiguousarray(rows).tobytes())

    def digests(self) -> dict[str, str]:
        """The SHA-256 of every column so far, in hexadecimal."""
        return {name: found.hexdigest() for name, found in self._hashes.items()}

    def to_json(self) -> str:
        """The hashes as the JSON text that a results file keeps."""
        return json.dumps(self.digests())

    @staticmethod
    def read(root: Hdf5Node) -> dict[str, str]:
        """The hashes that a file keeps, by column; older files keep none."""
        if not root.has_attribute("sha256"):
            return {}
        try:
            found = json.loads(root.text("sha256"))
        except (json.JSONDecodeError, RecursionError) as error:
            raise root.fail(f"attribute 'sha256' must be JSON: {error}") from error
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise root.fail("attribute 'sha256' must be a JSON object of strings")
        return found


class DataHash:
    """The SHA-256 of samples, added batch by batch; it does not depend on how they are split."""

    def __init__(self) -> None:
        self._values, self._labels = hashlib.sha256(), hashlib.sha256()
        self.samples = 0  # added so far

    def note(self, values: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
        """Add samples to the hash of the data."""
        self._values.update(values.tobytes())
        self._labels.update(labels.astype(np.int64).tobytes())
        self.samples += len(labels)

    def hexdigest(self) -> str:
        """The hash of all values and labels so far."""
        return hashlib.sha256(self._values.digest() + self._labels.digest()).hexdigest()


def provenance_versions() -> dict[str, str]:
    """Versions of Python, the machine type, and the relevant packages that are installed."""
    from fsnn_lava.version import __version__

    found = {"fsnn-lava": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
