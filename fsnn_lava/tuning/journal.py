"""The journal of an unfinished search: one line of JSON that identifies the search, and one for every finished trial."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.tuning.trial import Trial

BYTES_MAX = 2**26


class TuningJournal:
    """Finished trials of one search, in a file next to the network that will be written; removed when the search is done.

    `identity` identifies the search: JSON values, with names that the user knows. Trials of another search are rejected.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path, self.identity = path, json.loads(json.dumps(dict(identity)))

    def open(self, *, resume: bool) -> list[Trial]:
        """Return the trials in the journal; raise BadArgument if there is one and `resume` is False, or if it belongs to another search."""
        if not self.path.exists():
            self._append(self.identity)
            return []
        if not resume:
            raise BadArgument(f"{self.path} contains an unfinished search; continue it with --resume, or delete it")
        identity, trials = self._read()
        changed = [name for name in self.identity if identity.get(name) != self.identity[name]]
        if changed:
            raise BadArgument(f"{self.path} belongs to another search: {', '.join(changed)} differ; repeat its options, or delete it")
        return trials

    def add(self, trial: Trial) -> None:
        """Add a finished trial to the journal."""
        self._append(trial.to_dict())

    def close(self) -> None:
        """Remove the journal, since the search is done."""
        self.path.unlink(missing_ok=True)

    def _append(self, values: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> tuple[dict[str, Any], list[Trial]]:
        """Return identity and trials. An incomplete last line, left by a killed search, is removed."""
        if self.path.stat().st_size > BYTES_MAX:
            raise BadFile(f"{self.path} is too large for a journal of a search")
        whole, _, torn = self.path.read_bytes().rpartition(b"\n")
        try:
            head, *lines = [json.loads(line) for line in whole.decode("utf-8").split("\n")]
            trials = [Trial.from_dict(line) for line in lines]
            if not isinstance(head, dict):
                raise BadFile("the first line must identify the search")
        except (ValueError, TypeError, RecursionError) as error:
            raise BadFile(f"{self.path} is damaged: {error}; delete it to start again") from error
        if torn:
            os.truncate(self.path, len(whole) + 1)
        return head, trials
