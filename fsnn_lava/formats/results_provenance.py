"""The provenance of a run: network, data, versions, backend, command and date."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from math import inf
from typing import Any

from fsnn_lava.files.hdf5 import Hdf5Node

PACKAGES = ("numpy", "numba", "h5py", "torch", "lava-nc")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The network, data and software that produced a run."""

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
        """Return the provenance as attributes of a results file; bytes that are not UTF-8 become \\udcXX, as HDF5 strings need UTF-8."""
        values = {**asdict(self), "versions": json.dumps(self.versions)}
        return {name: v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v for name, v in values.items()}

    @staticmethod
    def of(root: Hdf5Node) -> Provenance:
        """Read the provenance from the attributes of a results file."""
        try:
            versions = json.loads(root.text("versions"))
        except json.JSONDecodeError as error:
            raise root.fail(f"attribute 'versions' must be JSON: {error}") from error
        if not isinstance(versions, dict):
            raise root.fail("attribute 'versions' must be a JSON object")
        seconds = root.number("seconds")
        if not 0.0 <= seconds < inf:
            raise root.fail(f"attribute 'seconds' must be a non-negative number, got {seconds}")
        texts = {name: root.text(name) for name in ("backend", "graph", "digest", "data", "data_sha256", "command", "date")}
        return Provenance(**texts, steps=root.integer("steps"), versions={str(k): str(v) for k, v in versions.items()}, seconds=seconds)


def provenance_versions() -> dict[str, str]:
    """Return the machine type, and the versions of Python and of the relevant packages that are installed."""
    from fsnn_lava.version import __version__

    found = {"fsnn-lava": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
