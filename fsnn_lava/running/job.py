"""A run over a data set into a file, by one process or by many, interrupted or not: the results are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.data import Split
from fsnn_lava.errors import BadArgument, BadFile, FsnnError, Interrupted
from fsnn_lava.files.atomic import move
from fsnn_lava.formats import results
from fsnn_lava.formats.results_layout import detail_columns, row_columns
from fsnn_lava.formats.results_part import Layout
from fsnn_lava.formats.results_provenance import DataHash
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.running.evaluation import Sink, Totals, evaluate, fitted
from fsnn_lava.running.journal import Journal, opened
from fsnn_lava.training.processes import Processes
from fsnn_lava.version import __version__

Progress = Callable[[int], AbstractContextManager[Callable[[int], None]]]  # opened with the number of samples, told those done


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """What to run: the first `number` samples of `split`; `options` are backend, steps, spikes, residual and graph."""

    chip: ChipNetwork
    split: Split
    number: int
    batch: int
    data: str  # name of the data set
    options: dict[str, Any]
    detail: int | None = None  # samples to keep in detail; None: as many as a moderate amount of disk holds
    judged: str = "no"  # what the comparison depends on, beside the run itself
    resume: bool = False
    again: str = "the same command with --resume"  # how to go on after an interruption

    @property
    def kept(self) -> int:
        """Samples to keep in detail."""
        if self.detail is not None:
            return self.detail
        return results.default_detail(self.chip, self.options["steps"], spikes=self.options["spikes"])

    @property
    def layout(self) -> Layout:
        steps = self.options["steps"]
        rows = row_columns(self.chip, residual_steps=steps if self.options["residual"] else 0)
        return Layout(rows, detail_columns(self.chip, steps, spikes=self.options["spikes"]))

    @property
    def about(self) -> dict[str, Any]:
        """Everything the results depend on, but for the data themselves. Batches and processes are not among it."""
        fixed = {"network": self.chip.digest(), "data": self.data, "samples": self.number, "detail": self.kept}
        return {**fixed, **self.options, "comparison": self.judged, "fsnn-lava": __version__}

    def samples(self, first: int, end: int) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        """Values and labels of samples first … end - 1, batch by batch."""
        for start in range(first, end, self.batch):
            rows = slice(start, min(start + self.batch, end))
            yield fitted(self.chip, self.split.batch(rows)), self.split.labels[rows]


def run_in_memory(job: Job, sinks: list[Sink], progress: Progress) -> Totals:
    """Run everything here and hand it to the sinks."""
    totals = Totals(job.chip, job.options["steps"])
    batches = evaluate(job.chip, job.split, [(0, job.number)], batch=job.batch, **job.options)
    with progress(job.number) as told, closing(batches):
        for ran in batches:
            for sink in (totals, *sinks):
                sink.add(ran.result, ran.values, ran.labels)
            told(ran.result.samples)
    return totals


def run_to_file(job: Job, out: Path, who: Processes, comparator: Any, progress: Progress, say: Callable[[str], None]) -> Totals | None:
    """Run this process's share and keep it. The first process then joins all shares into `out`, and `comparator` has seen all samples.

    Nothing for the other processes. Whoever is interrupted leaves what is finished in a folder beside `out`.
    """
    if job.number < who.size:
        raise BadArgument(f"{job.number} samples are too few for {who.size} processes")
    results.require_room(out, 0)
    with opened(out, job.layout, job.about, number=job.number, who=who, resume=job.resume) as journal, _saying_what_is_kept(job, journal):
        if job.resume and who.first:
            kept = journal.kept
            begun = f"nothing is kept in {journal.folder}: from the beginning"
            say(f"{kept} of {job.number} samples are kept" if kept else begun)
        data = _kept_data(job, journal)
        _run_share(job, journal, comparator, data, progress)
        if not who.first:
            return None
        journal.wait(job.number)
        totals = _joined(job, journal, out, comparator, data)
        journal.discard()
        return totals


def _run_share(job: Job, journal: Journal, comparator: Any, data: DataHash, progress: Progress) -> None:
    first, end = journal.who.share(job.number)
    missing = [(gap.first, gap.end) for gap in journal.missing(first, end)]
    batches = evaluate(job.chip, job.split, missing, batch=job.batch, **job.options)
    with progress(end - first) as told, closing(batches):
        told(end - first - sum(last - start for start, last in missing))
        for ran in batches:
            found = None
            if comparator is not None:
                comparator.add(ran.result, ran.values, ran.labels, offset=ran.first)
                found = comparator.hand_over()
            details = min(max(job.kept - ran.first, 0), ran.result.samples)
            journal.add(ran.first, ran.result, ran.values, ran.labels, details=details, found=found)
            if ran.first == data.samples:
                data.note(ran.values, ran.labels)
            told(ran.result.samples)


def _kept_data(job: Job, journal: Journal) -> DataHash:
    """The hash of the data set as far as its beginning is kept. BadArgument if a sample kept from before is not the data set's."""
    so_far = DataHash()
    first, end = journal.who.share(job.number)
    for span in journal.spans:
        if not first <= span.first < end:
            continue
        data, next_ones = DataHash(), span.first == so_far.samples
        for values, labels in job.samples(span.first, span.end):
            data.note(values, labels)
            if next_ones:
                so_far.note(values, labels)
        with journal.read(span) as part:
            ran_on = part.data_sha256
        if ran_on != data.hexdigest():
            where = f"samples {span.first} … {span.end - 1} of data set {job.data}"
            raise BadArgument(f"{where} are not those that {journal.folder} was run on; use that data, or delete that folder")
    return so_far


def _joined(job: Job, journal: Journal, out: Path, comparator: Any, data: DataHash) -> Totals:
    """All parts as one file at `out`; made inside the journal, so that a kill leaves nothing beside it."""
    totals, kept = Totals(job.chip, job.options["steps"]), {name: job.options[name] for name in ("steps", "spikes", "residual")}
    spans, made = journal.spans, journal.folder / "assembled.h5"
    if spans[-1].end != job.number:
        raise BadFile(f"{journal.folder} keeps samples beyond {job.number}; delete that folder")
    with results.writing(made, job.chip, data=job.data, detail=job.kept, **kept) as writer:
        for span in spans:
            with journal.read(span) as part:
                whole = part.load()
                if comparator is not None:
                    comparator.take_in(whole.found)
            totals.add_rows(whole.columns, whole.seconds)
            writer.join(whole)
        for values, labels in job.samples(data.samples, job.number):
            data.note(values, labels)
        writer.data = data
    move(made, out)
    return totals


@contextmanager
def _saying_what_is_kept(job: Job, journal: Journal) -> Iterator[None]:
    """Whatever ends the block early also says what is kept, and how to go on."""
    try:
        yield
    except (KeyboardInterrupt, FsnnError) as error:
        kept = journal.kept
        if not kept or not journal.who.first:
            raise
        sentence = f"{kept} of {job.number} samples are kept in {journal.folder}; go on with: {job.again}"
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(f"interrupted: {sentence}") from error
        raise type(error)(f"{error}. {sentence}") from error
