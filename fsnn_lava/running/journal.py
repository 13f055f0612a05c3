"""Journal: the folder results.h5.part beside results.h5. A run that is not finished keeps its finished batches there, each in a file.

run.json                    what is run; parts of another run are never mixed in
0000000000-0000000256.h5    samples 0 … 255, and so on, from one process or many
lock.0, lock.1, …           held by the processes that write: the lock goes when the process goes, however it ends
error.1, …                  why a process broke off, for the first one to say
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

ABOUT = "run.json"
ABOUT_BYTES_MAX = 2**20
SILENT_SECONDS = 1800.0  # after so long without a sign of life a process is taken for dead
POLL_SECONDS = 0.2
NOTE_ATTEMPTS = 5  # who has just taken a lock may not have written its note yet; what stands there may be that of a killed run
_PART = re.compile(r"(\d{10})-(\d{10})\.h5")
_OURS = re.compile(r"\d{10}-\d{10}\.h5|run\.json|(lock|error)\.\d+|\..+\.part|assembled\.h5")


@dataclass(frozen=True, order=True)
class Span:
    """Samples first … end - 1."""

    first: int
    end: int

    @property
    def name(self) -> str:
        return f"{self.first:010d}-{self.end:010d}.h5"


class Journal:
    """What is kept of one run. `about` says which run it is: values that JSON has, by names that a user knows."""

    def __init__(self, folder: Path, layout: Layout, about: Mapping[str, Any], who: Processes) -> None:
        self.folder, self.layout, self.who = folder, layout, who
        self.about, self._discarded = dict(about), False
        self.run = hashlib.sha256(json.dumps(self.about, sort_keys=True).encode()).hexdigest()

    @property
    def spans(self) -> list[Span]:
        """What is kept, in order; BadFile if two parts hold the same sample."""
        names = [_PART.fullmatch(path.name) for path in self.folder.iterdir()] if self.folder.is_dir() else []
        found = sorted(Span(int(name[1]), int(name[2])) for name in names if name and name[1] < name[2])
        for before, after in pairwise(found):
            if after.first < before.end:
                raise BadFile(f"{self.folder}: {before.name} and {after.name} hold the same samples; delete one of them")
        return found

    @property
    def kept(self) -> int:
        """Samples that need not be run again."""
        return sum(span.end - span.first for span in self.spans)

    def missing(self, first: int, end: int) -> list[Span]:
        """The samples among first … end - 1 that are in no part."""
        gaps = []
        for span in self.spans:
            if span.first > first:
                gaps.append(Span(first, min(span.first, end)))
            first = max(first, span.end)
            if first >= end:
                break
        return [gap for gap in [*gaps, Span(first, end)] if gap.first < gap.end]

    def add(self, first: int, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64], *, details: int, found: Any) -> None:
        """Keep a batch; when this returns it survives whatever happens."""
        path = self.folder / Span(first, first + result.samples).name
        write_part(path, self.layout, result, values, labels, run=self.run, first=first, details=details, found=found)
        self._live()

    @contextlib.contextmanager
    def read(self, span: Span) -> Iterator[PartFile]:
        """An open part."""
        path = self.folder / span.name
        try:
            with reading_part(path, self.layout, run=self.run, first=span.first, samples=span.end - span.first) as part:
                yield part
        except BadFile as error:
            raise BadFile(f"{error}; delete that file, and its samples are run again") from error

    def begin(self, number: int, *, resume: bool) -> None:
        """Make sure that what is kept belongs to this run of `number` samples, and that going on with it was asked for."""
        note = self.folder / ABOUT
        (self.folder / f"error.{self.who.rank}").unlink(missing_ok=True)
        share = self.who.share(number)
        if not note.exists():  # what is there was to be discarded
            for span in self.spans:
                if share[0] <= span.first < share[1]:
                    (self.folder / span.name).unlink(missing_ok=True)
        kept = self.kept
        if kept and note.exists():
            different = self._different(_read(note))
            mine = self.missing(*share) != [Span(*share)]
            if not resume and (mine or different):
                raise BadArgument(f"{self.folder} keeps {kept} samples of an interrupted run: add --resume to go on, or delete that folder")
            if different:
                raise BadArgument(f"{self.folder} keeps another run: {different}; go on with that one, or delete that folder")
            return
        with atomic_path(note) as temporary:
            temporary.write_text(json.dumps(self.about, indent=2, sort_keys=True), encoding="utf-8")

    def _different(self, found: Any) -> str:
        if not isinstance(found, dict):
            raise BadFile(f"{self.folder / ABOUT} does not say which run is kept; delete the folder {self.folder}")
        names = [name for name in {**self.about, **found} if found.get(name) != self.about.get(name)]
        return ", ".join(f"{name} {found.get(name)} and not {self.about.get(name)}" for name in sorted(names))

    def _live(self) -> None:
        """A sign of life."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / f"lock.{self.who.rank}")

    def broke_off(self, error: BaseException) -> None:
        """Let the first process know why its wait is in vain."""
        with atomic_path(self.folder / f"error.{self.who.rank}") as temporary:
            temporary.write_text(json.dumps([self.who.token, f"{type(error).__name__}: {error}"]), encoding="utf-8")

    def wait(self, number: int) -> None:
        """Until all samples are there; BackendFailed if a process broke off or fell silent."""
        signs: dict[int, tuple[float, float]] = {}  # by process: its last sign, and when it was first seen
        while self.missing(0, number):
            for rank in range(1, self.who.size):
                self._listen(rank)
                lock = self.folder / f"lock.{rank}"
                sign = lock.stat().st_mtime if lock.exists() else 0.0
                if rank not in signs or signs[rank][0] != sign:
                    signs[rank] = sign, time.monotonic()
                missing = self.missing(*Processes(rank, self.who.size).share(number))
                if missing and time.monotonic() - signs[rank][1] > SILENT_SECONDS:
                    raise BackendFailed(f"process {rank} of {self.who.size} has given no sign of life for {SILENT_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)

    def _listen(self, rank: int) -> None:
        note = self.folder / f"error.{rank}"
        if not note.exists():
            return
        found = _read(note)
        if isinstance(found, list) and len(found) == 2 and found[0] == self.who.token:
            note.unlink(missing_ok=True)
            raise BackendFailed(f"process {rank} of {self.who.size} broke off: {found[1]}")

    def discard(self) -> None:
        """Remove everything, once: then the folder may be another run's. What tells the run goes first: half removed it is nobody's."""
        if self._discarded:
            return
        self._discarded = True
        (self.folder / ABOUT).unlink(missing_ok=True)
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # somebody put a file of his own there
            self.folder.rmdir()


@contextlib.contextmanager
def opened(out: Path, layout: Layout, about: Mapping[str, Any], *, number: int, who: Processes, resume: bool) -> Iterator[Journal]:
    """The journal of a run into `out`, locked while the block lasts. If the block breaks off, what is in it is kept."""
    if out.is_dir():
        raise BadArgument(f"cannot write {out}: it is a folder")
    journal = Journal(out.with_name(f"{out.name}.part"), layout, about, who)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(journal.folder / f"lock.{who.rank}", note=f"{os.getpid()} of {who.size}", what=str(out)))
        except OSError as error:
            raise BadFile(f"cannot write {out}: {error.strerror or error}") from error
        ours = False
        try:
            _refuse_other_size(journal.folder, who, out)
            ours = True
            journal.begin(number, resume=resume)
            yield journal
        except BaseException as error:
            if not who.first:
                journal.broke_off(error)
            raise
        finally:
            if ours and who.first and not journal.spans:
                journal.discard()


def _refuse_other_size(folder: Path, who: Processes, out: Path) -> None:
    """Two runs at once of unlike numbers of processes do not meet in one lock."""
    for path in folder.glob("lock.*"):
        for attempt in range(NOTE_ATTEMPTS):
            owner = held_elsewhere(path) if path.name != f"lock.{who.rank}" else None
            if owner is None or owner.endswith(f" of {who.size}"):
                break
            if attempt == NOTE_ATTEMPTS - 1:
                raise BadArgument(f"another run (process {owner}) is writing {out}; wait for it, or give another --out")
            time.sleep(POLL_SECONDS)


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > ABOUT_BYTES_MAX:
            raise ValueError(f"{path.stat().st_size} bytes are too many")
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(f"{path} cannot be read: {error}; delete the folder {path.parent}") from error
    return found
