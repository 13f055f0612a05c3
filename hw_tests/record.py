"""The record of a target, as JSON: board, versions, date, and a fingerprint of every result."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import fsnn_lava
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.ir.result import Result

FOLDER = Path(__file__).parent / "records"
_PACKAGES = ("numpy", "lava-nc", "lava-dl", "lava-loihi", "numba")


def fingerprint(result: Result) -> dict[str, Any]:
    """Return sums (to read) and hashes (to compare) of all integers in a result."""
    return {
        "counts": [_of(array) for array in result.counts],
        "potentials": [_of(array) for array in result.potentials],
        "late": [_of(array) for array in result.late],
        "readout": result.readout.tolist() if result.readout.size <= 64 else _of(result.readout),
        "steps": result.steps,
        "network": result.digest[:16],
    }


def _of(array: np.ndarray) -> dict[str, Any]:
    whole = np.ascontiguousarray(array, dtype="<i8")
    return {"shape": list(whole.shape), "sum": int(whole.sum()), "sha256": hashlib.sha256(whole.tobytes()).hexdigest()[:32]}


def environment(target: str) -> dict[str, Any]:
    """Return the machine and the versions with which the record was made."""
    versions = {"fsnn-lava": fsnn_lava.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    board = os.environ.get("BOARD") or os.environ.get("PARTITION") or os.environ.get("NXSDKHOST")
    silicon = target == "loihi2"
    return {
        "target": target,
        "silicon": silicon,
        "board": (board or "unnamed") if silicon else "none: not run on silicon",
        "generation": os.environ.get("LOIHI_GEN") if silicon else None,
        "machine": platform.machine(),
        "versions": versions,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }


@dataclass
class Record:
    target: str
    writing: bool
    cases: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, target: str, *, writing: bool) -> Record:
        path = FOLDER / f"{target}.json"
        stored = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.is_file() else {}
        return cls(target, writing, stored)

    def check(self, case: str, result: Result) -> None:
        """Check that the result equals the recorded one, if there is one for this case."""
        found = fingerprint(result)
        if self.writing:
            self.cases[case] = found
        elif case in self.cases:
            assert found == self.cases[case], f"{self.target}: {case} differs from hw_tests/records/{self.target}.json"

    def close(self) -> None:
        if not self.writing or not self.cases:
            return
        FOLDER.mkdir(exist_ok=True)
        with atomic_path(FOLDER / f"{self.target}.json") as temporary:
            text = json.dumps({**environment(self.target), "cases": dict(sorted(self.cases.items()))}, indent=1)
            temporary.write_text(text + "\n", encoding="utf-8")
