"""fsnn-run [net.h5]: run a network on a backend and compare the results with the equilibrium and the exact bounds."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.availability import require_backend
from fsnn_lava.cli.command import command_as_typed, run_command
from fsnn_lava.cli.outputs import check_outputs
from fsnn_lava.cli.parsers.data_options import FORMS
from fsnn_lava.cli.parsers.run import DEFAULT, run_parser
from fsnn_lava.cli.parsers.threshold_options import thresholds
from fsnn_lava.cli.progress import named_phase, run_progress
from fsnn_lava.data import Dataset, load_data
from fsnn_lava.errors import BadArgument, Remark
from fsnn_lava.formats.results import reading_results
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result, concatenate_results
from fsnn_lava.models.find import MODEL, find_model
from fsnn_lava.running.evaluation import fit_evaluation_samples
from fsnn_lava.running.job import Job, run_job_in_memory, run_job_to_file
from fsnn_lava.running.options import RunOptions, run_options
from fsnn_lava.running.totals import Totals
from fsnn_lava.training.processes import Processes
from fsnn_lava.verify.thresholds import Thresholds

if TYPE_CHECKING:  # these import torch
    from fsnn_lava.nn.fsnn import FSNN
    from fsnn_lava.verify.comparator import Comparator
    from fsnn_lava.verify.verdict import Verdict


def fsnn_run(argv: Sequence[str] | None = None) -> int:
    """Run the command `run`. Exit code 0: ran and passed, 1: a check failed, 2: bad input, 3: the backend cannot run here."""
    return run_command("fsnn-run", execute_run, run_parser().parse_args(argv))


def execute_run(args: argparse.Namespace) -> int:
    """Execute fsnn-run after parsing: run the samples on the backend, compare, and print."""
    if args.package is not None:
        return _package(args)
    require_backend(args.backend)
    _check_arguments(args)
    path = find_model(args.network)
    args.model = None if args.model is None else find_model(args.model, file=MODEL)
    check_outputs({"--out": args.out, "--report": args.report}, [path, args.model, args.data])
    chip = ChipNetwork.load(path)
    dataset = _dataset(args, chip)
    number = _number(args, dataset)
    model = None if args.model is None else _load_model(args.model)
    options = run_options(
        chip,
        samples=number,
        backend=args.backend,
        steps=args.steps,
        batch=args.batch,
        spikes=args.spikes,
        residual=args.residual,
        graph=args.graph,
    )
    comparator = None if args.no_compare else _comparator(args, chip, model, options)
    processes = Processes.from_environment()
    job = Job(
        chip=chip,
        split=dataset.test,
        number=number,
        data=dataset.name,
        options=options,
        detail=args.detail,
        comparison=_comparison_identity(args),
        resume=args.resume or processes.restarted,
        resume_command=command_as_typed() if args.resume else f"{command_as_typed()} --resume",
    )
    report_samples = _FirstSamples(_samples_for_a_report(chip) if args.report and args.out is None else 0)
    totals = _execute(args, job, processes, comparator, report_samples)
    if totals is None:
        return 0
    verdict = None
    if comparator is not None:
        with named_phase("judging the run"):
            verdict = comparator.verdict()
    if verdict is not None and args.report is not None:
        with named_phase("writing the report"):
            _write_report(args, chip, dataset, verdict, report_samples, model)
    _print_result(args, chip, dataset, totals, verdict)
    return 0 if verdict is None or verdict.passed else 1


def _check_arguments(args: argparse.Namespace) -> None:
    """Check the options that only make sense together."""
    if args.no_compare and (args.report or args.model or thresholds(args) != Thresholds()):
        raise BadArgument("--report, --model and thresholds require the comparison: remove --no-compare")
    if args.figures is not None and args.report is None:
        raise BadArgument("--figures needs a report: add --report")
    if args.detail is not None and args.detail < 0:
        raise BadArgument(f"--detail must be at least 0, got {args.detail}")
    if args.resume and args.out is None:
        raise BadArgument("--resume needs the results file of the run to continue: add --out")


def _execute(
    args: argparse.Namespace, job: Job, processes: Processes, comparator: Comparator | None, report_samples: _FirstSamples
) -> Totals | None:
    """Run the job; return None in processes other than the first, which joins the results."""
    if args.out is not None:
        return run_job_to_file(job, args.out, processes, comparator, run_progress, lambda text: print(f"fsnn-run: {text}", file=sys.stderr))
    if processes.size > 1:
        raise BadArgument(f"{processes.size} processes need a results file in which to join their results: add --out")
    return run_job_in_memory(job, [report_samples] if comparator is None else [comparator, report_samples], run_progress)


def _comparison_identity(args: argparse.Namespace) -> str:
    """Describe the inputs of the comparison other than the run: its thresholds and the model."""
    if args.no_compare:
        return "no"
    model = "no model" if args.model is None else f"model {hashlib.sha256(args.model.read_bytes()).hexdigest()[:16]}"
    asked = {name: value for name, value in asdict(thresholds(args)).items() if value not in (None, "none")}
    return f"{model}, {asked}" if asked else model


def _package(args: argparse.Namespace) -> int:
    from fsnn_lava.running.bundle import write_bundle

    ignored = [f"--{name}" for name in ("out", "report", "figures", "model", "resume", "spikes", "residual") if getattr(args, name)]
    if ignored:
        raise BadArgument(f"--package runs nothing: remove {' and '.join(ignored)}")
    path = find_model(args.network)
    chip = ChipNetwork.load(path)
    dataset = _dataset(args, chip)
    first = slice(0, _number(args, dataset))
    labels = None if dataset.test.targets is not None else dataset.test.labels[first]
    values = fit_evaluation_samples(chip, dataset.test.batch(first), steps=args.steps or chip.steps)
    folder = write_bundle(path, values, args.package, labels=labels, steps=args.steps, board=args.board)
    text = f"wrote {folder}: copy it to the machine with the board, then run sh {folder.name}/run.sh --check there"
    print(json.dumps({"package": str(folder)}) if args.json else text)
    return 0


def _dataset(args: argparse.Namespace, chip: ChipNetwork) -> Dataset:
    name = args.data or chip.notes.get("data") or (DEFAULT if args.network == DEFAULT else None)
    if name is None:
        raise BadArgument(f"{args.network} does not say what it was trained on: add --data ({FORMS})")
    dataset = load_data(name, args.data_dir, download=args.download, targets="task" in chip.notes, shape=chip.input.shape)
    steps, frames = args.steps or chip.steps, dataset.test.shape[0]
    if chip.input.kind == dataset.kind == "events" and frames > steps > 0:
        warnings.warn(Remark(f"the recordings have {frames} frames, of which a run of {steps} steps uses the first {steps}"), stacklevel=2)
    return dataset


def _number(args: argparse.Namespace, dataset: Dataset) -> int:
    """Return how many test samples to run."""
    if args.limit is not None and args.limit < 1:
        raise BadArgument(f"--limit must be at least 1, got {args.limit}")
    if len(dataset.test) == 0:
        raise BadArgument(f"data set {dataset.name} has no test samples")
    return min(len(dataset.test), args.limit or len(dataset.test))


def _load_model(path: Path) -> FSNN:
    from fsnn_lava.nn.fsnn import FSNN

    return FSNN.load(path)


def _comparator(args: argparse.Namespace, chip: ChipNetwork, model: FSNN | None, options: RunOptions) -> Comparator:
    from fsnn_lava.verify.comparator import Comparator

    return Comparator(chip, model=model, thresholds=thresholds(args), graph="stock" if options.executed_graph == "stock" else "")


class _FirstSamples:
    """Keeps the first samples of a run, for a report."""

    def __init__(self, number: int) -> None:
        self.missing = number
        self.parts: list[tuple[Result, NDArray[np.uint8], NDArray[np.int64] | None]] = []

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None:
        first = slice(0, self.missing)
        if self.missing > 0:
            self.parts.append((result.part(first), values[first], None if labels is None else labels[first]))
            self.missing -= min(self.missing, result.samples)

    def joined(self) -> tuple[Result, NDArray[np.uint8], NDArray[np.int64] | None]:
        parts, values, labels = zip(*self.parts)
        return concatenate_results(parts), np.concatenate(values), None if labels[0] is None else np.concatenate(labels)


def _samples_for_a_report(chip: ChipNetwork) -> int:
    from fsnn_lava.report.evidence import samples_kept_as_evidence

    return samples_kept_as_evidence(chip)


def _write_report(
    args: argparse.Namespace, chip: ChipNetwork, dataset: Dataset, verdict: Verdict, report_samples: _FirstSamples, model: FSNN | None
) -> None:
    from fsnn_lava.report.evidence import Origin
    from fsnn_lava.report.report import write_report

    result, values, labels = report_samples.joined() if args.out is None else _detailed_samples(args.out)
    write_report(
        args.report,
        verdict=verdict,
        chip=None if result is None else chip,
        result=result,
        values=values,
        labels=labels,
        model=model,
        inputs=_inputs_of_errors(chip, dataset, verdict, args.steps or chip.steps),
        figures=args.figures,
        origin=Origin(data=dataset.name, date=datetime.now(timezone.utc).isoformat(timespec="seconds"), command=command_as_typed()),
    )


def _inputs_of_errors(chip: ChipNetwork, dataset: Dataset, verdict: Verdict, steps: int) -> dict[int, NDArray[np.uint8]]:
    """Return the inputs of samples classified wrongly, or differently from the float network, anywhere in the data set."""
    from fsnn_lava.report.mistakes import mistakes_to_show

    samples = mistakes_to_show(verdict)
    if not samples:
        return {}
    return dict(zip(samples, fit_evaluation_samples(chip, dataset.test.batch(np.array(samples)), steps=steps), strict=True))


def _detailed_samples(path: Path) -> tuple[Result | None, NDArray[np.uint8] | None, NDArray[np.int64] | None]:
    """Return the first samples that a results file stores in detail."""
    with reading_results(path) as reader:
        end = min(reader.details, _samples_for_a_report(reader.chip))
        return (reader.detail(0, end), reader.values(0, end), reader.row("labels", 0, end)) if end else (None, None, None)


def _print_result(args: argparse.Namespace, chip: ChipNetwork, dataset: Dataset, totals: Totals, verdict: Verdict | None) -> None:
    where = args.backend + (" (stock)" if args.graph == "stock" else "")
    if args.json:
        about = {"network": str(args.network), "digest": chip.digest(), "data": dataset.name, "backend": args.backend, "graph": args.graph}
        outcome = {"out": None if args.out is None else str(args.out), "verdict": None if verdict is None else verdict.to_dict()}
        print(json.dumps({**about, **totals.to_dict(), **outcome}, indent=2, ensure_ascii=False))
        return
    print(f"{args.network} on {where}, {dataset.name}: {totals.to_text()}")
    if verdict is not None:
        print(verdict.to_text())
    for path in (args.out, args.report):
        if path is not None:
            print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(fsnn_run())
