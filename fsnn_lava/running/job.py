"""Run a job over a data set and write a results file; the results do not depend on the number of processes or on interruptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fsnn_lava.data import Split
from fsnn_lava.errors import BadArgument, BadFile, FsnnError, Interrupted
from fsnn_lava.files.atomic import move_atomically
from fsnn_lava.formats import results
from fsnn_lava.formats.results_columns import detail_columns, row_columns
from fsnn_lava.formats.results_hashes import DataHash
from fsnn_lava.formats.results_part import Layout
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.running.evaluation import SampleBatch, evaluate, sample_batches
from fsnn_lava.running.journal import Journal, open_journal
from fsnn_lava.running.options import RunOptions
from fsnn_lava.running.sinks import ComparatorSink, Sink
from fsnn_lava.running.totals import Totals
from fsnn_lava.training.processes import Processes
from fsnn_lava.version import __version__


class JobProgress(Protocol):
    """Shows the progress of a run."""

    def phase(self, name: str) -> None:
        """Show which phase the job is in."""

    def advance(self, samples: int, *, kept: bool = False) -> None:
        """Count finished samples of the job; `kept` samples were finished by an earlier run."""


OpenProgress = Callable[[int], AbstractContextManager[JobProgress]]  # called with the number of samples


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """A job: run the first `number` samples of `split`."""

    chip: ChipNetwork
    split: Split
    number: int
    data: str  # name of the data set
    options: RunOptions
    detail: int | None = None  # samples to store in full detail; None: as many as fit in a moderate amount of disk space
    comparison: str = "no"  # what the comparison depends on besides the run itself
    resume: bool = False
    resume_command: str = "the same command with --resume"  # continues the run after an interruption

    @property
    def detailed_samples(self) -> int:
        """Number of the job's samples that are stored in full detail, every neuron."""
        if self.detail is not None:
            return self.detail
        return results.default_results_detail(self.chip, self.options.steps, spikes=self.options.spikes)

    @property
    def layout(self) -> Layout:
        """The layout of the job's results file."""
        steps = self.options.steps
        rows = row_columns(self.chip, steps=steps, residual_steps=steps if self.options.residual else 0)
        return Layout(rows, detail_columns(self.chip, steps, spikes=self.options.spikes))

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the results depend on, except the data itself; batch size and number of processes are not included."""
        return {
            "network": self.chip.digest(),
            "data": self.data,
            "samples": self.number,
            "detail": self.detailed_samples,
            "backend": self.options.backend,
            "graph": self.options.graph,
            "steps": self.options.steps,
            "spikes": self.options.spikes,
            "residual": self.options.residual,
            "comparison": self.comparison,
            "fsnn-lava": __version__,
        }

    def batches(self, first: int, end: int) -> Iterator[SampleBatch]:
        """Yield the job's samples first … end - 1 in batches."""
        return sample_batches(self.chip, self.split, first, end, size=self.options.batch, steps=self.options.steps)


def run_job_in_memory(job: Job, sinks: Sequence[Sink], progress: OpenProgress) -> Totals:
    """Run all samples of a job in this process and pass every batch to the sinks."""
    totals = Totals(job.chip, job.options.steps, job.split.targets)
    with progress(job.number) as shown, closing(evaluate(job.chip, job.split, [(0, job.number)], job.options)) as evaluated:
        shown.phase("starting")
        for batch, result in evaluated:
            shown.phase("comparing")
            for sink in (totals, *sinks):
                sink.add(result, batch.values, batch.labels)
            shown.advance(result.samples)
            shown.phase("running")
    return totals


def run_job_to_file(
    job: Job, out: Path, processes: Processes, comparator: ComparatorSink | None, progress: OpenProgress, say: Callable[[str], None]
) -> Totals | None:
    """Run this process's share of a job and keep the results in a folder next to `out`.

    The first process then joins all shares into `out`, passes them to `comparator` and returns their totals; the others return
    None. An interrupted run leaves its finished batches in that folder.
    """
    if job.number < processes.size:
        raise BadArgument(f"{job.number} samples are too few for {processes.size} processes")
    results.require_room_for_results(out, 0)
    with (
        open_journal(out, job.layout, job.identity, number=job.number, processes=processes, resume=job.resume) as journal,
        _saying_what_is_kept(job, journal),
    ):
        if job.resume and processes.first:
            kept = journal.kept
            say(
                f"{kept} of {job.number} samples are kept"
                if kept
                else f"{journal.folder} contains no finished samples: starting from the beginning"
            )
        data = _hash_kept_data(job, journal)
        _run_share(job, journal, comparator, data, progress)
        if not processes.first:
            return None
        journal.wait(job.number)
        totals = _join_parts(job, journal, out, comparator, data)
        journal.discard()
        return totals


def _run_share(job: Job, journal: Journal, comparator: ComparatorSink | None, data: DataHash, progress: OpenProgress) -> None:
    first, end = journal.processes.share(job.number)
    missing = [(gap.first, gap.end) for gap in journal.missing(first, end)]
    with progress(end - first) as shown, closing(evaluate(job.chip, job.split, missing, job.options)) as evaluated:
        shown.advance(end - first - sum(last - start for start, last in missing), kept=True)
        shown.phase("starting")
        for batch, result in evaluated:
            shown.phase("comparing")
            found = None
            if comparator is not None:
                comparator.add(result, batch.values, batch.labels, offset=batch.first)
                found = comparator.hand_over()
            details = min(max(job.detailed_samples - batch.first, 0), result.samples)
            journal.add(batch.first, result, batch.values, batch.labels, details=details, found=found)
            if batch.first == data.samples:
                data.note(batch.values, batch.labels)
            shown.advance(result.samples)
            shown.phase("running")


def _hash_kept_data(job: Job, journal: Journal) -> DataHash:
    """Hash the leading samples kept in the journal; raise BadArgument if one differs from the data set."""
    so_far = DataHash()
    first, end = journal.processes.share(job.number)
    for span in journal.spans:
        if not first <= span.first < end:
            continue
        span_data, continues = DataHash(), span.first == so_far.samples
        for batch in job.batches(span.first, span.end):
            span_data.note(batch.values, batch.labels)
            if continues:
                so_far.note(batch.values, batch.labels)
        with journal.read(span) as part:
            kept_sha256 = part.data_sha256
        if kept_sha256 != span_data.hexdigest():
            raise BadArgument(
                f"samples {span.first} … {span.end - 1} of data set {job.data} are not those that {journal.folder} was run on; "
                "use the same data, or delete that folder"
            )
    return so_far


def _join_parts(job: Job, journal: Journal, out: Path, comparator: ComparatorSink | None, data: DataHash) -> Totals:
    """Join all parts into the file `out`; it is built inside the journal's folder, so a killed process leaves nothing next to it."""
    options, totals = job.options, Totals(job.chip, job.options.steps, job.split.targets)
    spans, assembled = journal.spans, journal.folder / "assembled.h5"
    if spans[-1].end != job.number:
        raise BadFile(f"{journal.folder} contains samples beyond {job.number}; delete that folder")
    with results.writing_results(
        assembled,
        job.chip,
        steps=options.steps,
        data=job.data,
        detail=job.detailed_samples,
        spikes=options.spikes,
        residual=options.residual,
    ) as writer:
        for span in spans:
            with journal.read(span) as part_file:
                part = part_file.load()
                if comparator is not None:
                    comparator.take_in(part.found)
            totals.add_rows(part.columns, part.seconds)
            writer.join(part)
        for batch in job.batches(data.samples, job.number):
            data.note(batch.values, batch.labels)
        writer.data = data
    move_atomically(assembled, out)
    return totals


@contextmanager
def _saying_what_is_kept(job: Job, journal: Journal) -> Iterator[None]:
    """If an error or Ctrl-C ends the block, add to its message what was kept and how to continue."""
    try:
        yield
    except (KeyboardInterrupt, FsnnError) as error:
        kept = journal.kept
        if not kept or not journal.processes.first:
            raise
        sentence = f"{kept} of {job.number} samples are kept in {journal.folder}; continue with: {job.resume_command}"
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(f"interrupted: {sentence}") from error
        raise type(error)(f"{error}. {sentence}") from error
