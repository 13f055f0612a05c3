"""A run over a data set into a file, by one process or by many: the results are the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fsnn_lava.chip.network import ChipNetwork
from fsnn_lava.data import Split
from fsnn_lava.errors import BadArgument
from fsnn_lava.evaluation import Sink, Totals, evaluate, fitted
from fsnn_lava.formats import results
from fsnn_lava.ranks import Ranks

Progress = Callable[[int], AbstractContextManager[Callable[[int], None]]]  # opened with the number of samples, told those done


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """What to run: the first `number` samples of `split`; `options` are backend, steps, spikes and graph."""

    chip: ChipNetwork
    split: Split
    number: int
    batch: int
    out: Path | None
    data: str
    detail: int | None
    options: dict[str, Any]

    @property
    def kept(self) -> int:
        """Samples to keep in detail."""
        if self.detail is not None:
            return self.detail
        return results.default_detail(self.chip, self.options["steps"], spikes=self.options["spikes"])

    def file(self, path: Path, detail: int) -> AbstractContextManager[results.Writer]:
        options = {"steps": self.options["steps"], "spikes": self.options["spikes"], "data": self.data, "detail": detail}
        return results.writing(path, self.chip, **options)


def run_alone(job: Job, sinks: list[Sink], progress: Progress) -> Totals:
    """Run everything here."""
    with ExitStack() as stack:
        if job.out is not None:
            sinks = [*sinks, stack.enter_context(job.file(job.out, job.kept))]
        told = stack.enter_context(progress(job.number))
        return evaluate(job.chip, job.split, first=0, end=job.number, batch=job.batch, sinks=sinks, progress=told, **job.options)


def run_share(job: Job, who: Ranks, sinks: list[Sink], progress: Progress, comparator: Any) -> tuple[Totals, list[str]] | None:
    """Run this process's share. The first process then joins all shares into job.out: the totals, and a sentence for each share whose
    comparison failed. Nothing for the other processes."""
    out = job.out
    if out is None:
        raise BadArgument(f"{who.size} processes meet in the results file: give --out")
    if job.number < who.size:
        raise BadArgument(f"{job.number} samples are too few for {who.size} processes")
    first, end = who.share(job.number)
    try:
        with job.file(who.part(out), min(max(job.kept - first, 0), end - first)) as writer, progress(end - first) as told:

            def done(samples: int) -> None:
                who.alive(out)
                told(samples)

            options: dict[str, Any] = {
                "first": first,
                "end": end,
                "batch": min(job.batch, end - first),
                "sinks": [*sinks, writer],
                "progress": done,
            }
            totals = evaluate(job.chip, job.split, **options, **job.options)
        verdict = None if comparator is None else comparator.verdict()
        who.say(out, {"totals": asdict(totals), "passed": verdict is None or verdict.passed})
    except BaseException as error:
        if who.rank == 0:
            who.clean(out)
        else:
            who.say(out, {"error": f"{type(error).__name__}: {error}"})
        raise
    if who.rank > 0:
        return None
    try:
        return _join(job, who, out)
    finally:
        who.clean(out)


def _join(job: Job, who: Ranks, out: Path) -> tuple[Totals, list[str]]:
    found = who.wait(out)
    with job.file(out, job.kept) as writer:
        for rank in range(who.size):
            with results.reading(who.part(out, rank)) as part:
                writer.join(part)
        for start in range(0, job.number, job.batch):
            rows = slice(start, min(start + job.batch, job.number))
            writer.note_data(fitted(job.chip, job.split.batch(rows)), job.split.labels[rows])
    totals = Totals(**found[0]["totals"])
    for said in found[1:]:
        totals = totals.merge(Totals(**said["totals"]))
    failed = [
        f"process {rank} of {who.size}: the comparison of its samples failed" for rank, said in enumerate(found) if not said["passed"]
    ]
    return totals, failed
