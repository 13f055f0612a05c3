"""Journal: the folder results.h5.part next to results.h5, where an unfinished run keeps its finished batches, one file each.

run.json                    identifies the run; parts of different runs are never mixed
0000000000-0000000256.h5    samples 0 … 255, and so on, from one process or many
lock.0, lock.1, …           held by the processes that write; released when the process ends in any way
error.1, …                  why a process failed, for the first process to report
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BackendFailed, BadArgument, BadFile
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.files.lock import held_elsewhere, locked
from fsnn_lava.formats.results_part import Layout, PartFile, reading_part, write_part
from fsnn_lava.ir.result import Result
from fsnn_lava.training.processes import Processes

IDENTITY = "run.json"
JSON_BYTES_MAX = 2**20
SILENT_SECONDS = 1800.0  # a process that has stored nothing for this long is considered dead
POLL_SECONDS = 0.2
NOTE_ATTEMPTS = 5  # a process may not have written its note yet after taking a lock; an old note may be from a killed run
_PART = re.compile(r"(\d{10})-(\d{10})\.h5")
_OURS = re.compile(r"\d{10}-\d{10}\.h5|run\.json|(lock|error)\.\d+|\..+\.part|assembled\.h5")


@dataclass(frozen=True, order=True)
class Span:
    """The samples first … end - 1."""

    first: int
    end: int

    @property
    def name(self) -> str:
        """Name of the journal's file for these samples."""
        return f"{self.first:010d}-{self.end:010d}.h5"


class Journal:
    """The finished batches of one run. `identity` identifies the run: JSON values, with names that the user knows."""

    def __init__(self, folder: Path, layout: Layout, identity: Mapping[str, Any], processes: Processes) -> None:
        self.folder, self.layout, self.processes = folder, layout, processes
        self.identity, self._discarded = dict(identity), False
        self.run_sha256 = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()

    @property
    def spans(self) -> list[Span]:
        """Return the stored parts in order; raise BadFile if two of them contain the same sample."""
        names = [_PART.fullmatch(path.name) for path in self.folder.iterdir()] if self.folder.is_dir() else []
        found = sorted(Span(int(name[1]), int(name[2])) for name in names if name and name[1] < name[2])
        for before, after in pairwise(found):
            if after.first < before.end:
                raise BadFile(f"{self.folder}: {before.name} and {after.name} contain the same samples; delete one of them")
        return found

    @property
    def kept(self) -> int:
        """Return the number of samples in the journal, which need not be run again."""
        return sum(span.end - span.first for span in self.spans)

    def missing(self, first: int, end: int) -> list[Span]:
        """Return the samples among first … end - 1 that no part contains."""
        gaps = []
        for span in self.spans:
            if span.first > first:
                gaps.append(Span(first, min(span.first, end)))
            first = max(first, span.end)
            if first >= end:
                break
        return [gap for gap in [*gaps, Span(first, end)] if gap.first < gap.end]

    def add(self, first: int, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64], *, details: int, found: object) -> None:
        """Store a batch; once this returns, it survives any interruption. `found` is what the comparison found in it, as JSON values."""
        path = self.folder / Span(first, first + result.samples).name
        write_part(path, self.layout, result, values, labels, run=self.run_sha256, first=first, details=details, found=found)
        self._touch_lock()

    @contextlib.contextmanager
    def read(self, span: Span) -> Iterator[PartFile]:
        """Yield an open part."""
        path = self.folder / span.name
        try:
            with reading_part(path, self.layout, run=self.run_sha256, first=span.first, samples=span.end - span.first) as part:
                yield part
        except BadFile as error:
            raise BadFile(f"{error}; delete that file and its samples will be run again") from error

    def begin(self, number: int, *, resume: bool) -> None:
        """Check that the journal belongs to this run of `number` samples, and that resuming was requested if it is not empty."""
        note = self.folder / IDENTITY
        (self.folder / f"error.{self.processes.rank}").unlink(missing_ok=True)
        share = self.processes.share(number)
        if not note.exists():  # the rest is left over from a journal that was being discarded
            for span in self.spans:
                if share[0] <= span.first < share[1]:
                    (self.folder / span.name).unlink(missing_ok=True)
        kept = self.kept
        if kept and note.exists():
            different = self._differences(_read_json(note))
            mine = self.missing(*share) != [Span(*share)]
            if not resume and (mine or different):
                raise BadArgument(
                    f"{self.folder} contains {kept} samples of an interrupted run: add --resume to continue it, or delete the folder"
                )
            if different:
                raise BadArgument(f"{self.folder} contains a different run: {different}; continue that one, or delete the folder")
            return
        with atomic_path(note) as temporary:
            temporary.write_text(json.dumps(self.identity, indent=2, sort_keys=True), encoding="utf-8")

    def _differences(self, kept: object) -> str:
        if not isinstance(kept, dict):
            raise BadFile(f"{self.folder / IDENTITY} must be a JSON object that identifies the run; delete the folder {self.folder}")
        names = [name for name in {**self.identity, **kept} if kept.get(name) != self.identity.get(name)]
        return ", ".join(f"{name} {kept.get(name)} instead of {self.identity.get(name)}" for name in sorted(names))

    def _touch_lock(self) -> None:
        """Show the first process that this one is still alive."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / f"lock.{self.processes.rank}")

    def report_failure(self, error: BaseException) -> None:
        """Tell the first process, which waits for this one, why it failed."""
        with atomic_path(self.folder / f"error.{self.processes.rank}") as temporary:
            temporary.write_text(json.dumps([self.processes.token, f"{type(error).__name__}: {error}"]), encoding="utf-8")

    def wait(self, number: int) -> None:
        """Return when all samples are in the journal; raise BackendFailed if a process failed or stopped responding."""
        seen: dict[int, tuple[float, float]] = {}  # by process: when it last touched its lock, and when that was noticed
        while self.missing(0, number):
            for rank in range(1, self.processes.size):
                self._raise_failure(rank)
                lock = self.folder / f"lock.{rank}"
                touched = lock.stat().st_mtime if lock.exists() else 0.0
                if rank not in seen or seen[rank][0] != touched:
                    seen[rank] = touched, time.monotonic()
                missing = self.missing(*Processes(rank, self.processes.size).share(number))
                if missing and time.monotonic() - seen[rank][1] > SILENT_SECONDS:
                    raise BackendFailed(f"process {rank} of {self.processes.size} has not responded for {SILENT_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)

    def _raise_failure(self, rank: int) -> None:
        """Raise BackendFailed if that process of this run reported a failure."""
        note = self.folder / f"error.{rank}"
        if not note.exists():
            return
        reported = _read_json(note)
        if isinstance(reported, list) and len(reported) == 2 and reported[0] == self.processes.token:
            note.unlink(missing_ok=True)
            raise BackendFailed(f"process {rank} of {self.processes.size} failed: {reported[1]}")

    def discard(self) -> None:
        """Remove the journal, only once: the folder may then belong to another run. run.json goes first; without it the rest is ignored."""
        if self._discarded:
            return
        self._discarded = True
        (self.folder / IDENTITY).unlink(missing_ok=True)
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the user has put a file there
            self.folder.rmdir()


@contextlib.contextmanager
def open_journal(
    out: Path, layout: Layout, identity: Mapping[str, Any], *, number: int, processes: Processes, resume: bool
) -> Iterator[Journal]:
    """Yield the journal of a run that writes `out`, locked during the block. If the block raises, the finished batches are kept."""
    if out.is_dir():
        raise BadArgument(f"cannot write {out}: it is a folder")
    journal = Journal(out.with_name(f"{out.name}.part"), layout, identity, processes)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(journal.folder / f"lock.{processes.rank}", note=f"{os.getpid()} of {processes.size}", what=str(out)))
        except OSError as error:
            raise BadFile(f"cannot write {out}: {error.strerror or error}") from error
        ours = False
        try:
            _refuse_other_size(journal.folder, processes, out)
            ours = True
            journal.begin(number, resume=resume)
            yield journal
        except BaseException as error:
            if not processes.first:
                journal.report_failure(error)
            raise
        finally:
            if ours and processes.first and not journal.spans:
                journal.discard()


def _refuse_other_size(folder: Path, processes: Processes, out: Path) -> None:
    """Reject a second run with a different number of processes, since its locks would not collide with those of the first."""
    for path in folder.glob("lock.*"):
        for attempt in range(NOTE_ATTEMPTS):
            owner = held_elsewhere(path) if path.name != f"lock.{processes.rank}" else None
            if owner is None or owner.endswith(f" of {processes.size}"):
                break
            if attempt == NOTE_ATTEMPTS - 1:
                raise BadArgument(f"another run (process {owner}) is writing {out}; wait for it, or choose another --out")
            time.sleep(POLL_SECONDS)


def _read_json(path: Path) -> object:
    try:
        if path.stat().st_size > JSON_BYTES_MAX:
            raise ValueError(f"it has {path.stat().st_size} bytes, more than {JSON_BYTES_MAX}")
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(f"{path} cannot be read: {error}; delete the folder {path.parent}") from error
    return content
