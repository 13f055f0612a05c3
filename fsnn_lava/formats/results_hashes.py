"""The SHA-256 hashes of every column of results.h5, and of its data, computed while a run is written."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.files.hdf5 import Hdf5Node


class ColumnHashes:
    """The SHA-256 of columns of a results file, updated batch by batch; it does not depend on how they are split."""

    def __init__(self) -> None:
        self._hashes: dict[str, hashlib._Hash] = {}

    def note(self, name: str, rows: NDArray[Any]) -> None:
        """Add rows to the hash of a column."""
        self._hashes.setdefault(name, hashlib.sha256()).update(np.ascontiguousarray(rows).tobytes())

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of every column so far, in hexadecimal."""
        return {name: found.hexdigest() for name, found in self._hashes.items()}

    def to_json(self) -> str:
        """Return the hashes as the JSON text that a results file keeps."""
        return json.dumps(self.digests())

    @staticmethod
    def read(root: Hdf5Node) -> dict[str, str] | None:
        """Read the hashes that a results file keeps, by column; None if it keeps none, as older files."""
        if not root.has_attribute("sha256"):
            return None
        try:
            found = json.loads(root.text("sha256"))
        except (json.JSONDecodeError, RecursionError) as error:
            raise root.fail(f"attribute 'sha256' must be JSON: {error}") from error
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise root.fail("attribute 'sha256' must be a JSON object of strings")
        return found


class DataHash:
    """The SHA-256 of samples, updated batch by batch; it does not depend on how they are split."""

    def __init__(self) -> None:
        self._values, self._labels = hashlib.sha256(), hashlib.sha256()
        self.samples = 0  # added so far

    def note(self, values: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
        """Add samples to the hash of the data."""
        self._values.update(values.tobytes())
        self._labels.update(labels.astype(np.int64).tobytes())
        self.samples += len(labels)

    def hexdigest(self) -> str:
        """Return the hash of all values and labels so far."""
        return hashlib.sha256(self._values.digest() + self._labels.digest()).hexdigest()
