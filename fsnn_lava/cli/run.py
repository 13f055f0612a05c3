"""fsnn-run [net.h5]: run a network on a backend, and compare what came out with what must come out."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from fsnn_lava.backends.availability import BACKENDS, require
from fsnn_lava.cli.command import Parser, command_line, run_command
from fsnn_lava.cli.compare_options import add_threshold_options, thresholds
from fsnn_lava.data import NAMES, Dataset, load
from fsnn_lava.errors import BadArgument
from fsnn_lava.formats.results import reading
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result, concatenate
from fsnn_lava.ir.run_arguments import checked_steps
from fsnn_lava.models.find import find
from fsnn_lava.running.evaluation import Totals
from fsnn_lava.running.job import Job, run_in_memory, run_to_file
from fsnn_lava.running.run import GRAPHS, checked_batch
from fsnn_lava.training.processes import Processes
from fsnn_lava.verify.thresholds import Thresholds

DEFAULT = "digits"
REPORT_SAMPLES = 256


def _parser() -> Parser:
    parser = Parser(prog="fsnn-run", description="Run a network on samples, and compare it with what it must do.")
    parser.add_argument("network", nargs="?", default=DEFAULT, help="net.h5, or the name of a shipped network (default: %(default)s)")
    parser.add_argument("--backend", choices=tuple(BACKENDS), default="sim", help="where (default: %(default)s); never another one instead")
    parser.add_argument(
        "--data", metavar="NAME", help=f"{', '.join(NAMES)}, or an .npz file with x and y (default: what it was trained on)"
    )
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where data sets lie (default: $FSNN_DATA)")
    parser.add_argument("--steps", type=int, metavar="T", help="steps per sample (default: the network's)")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N test samples only")
    parser.add_argument("--batch", type=int, metavar="B", help="samples to run together (default: by memory)")
    parser.add_argument("--graph", choices=GRAPHS, default="batched", help="backend sim: our processes, or only Lava's own")
    parser.add_argument("--out", type=Path, metavar="results.h5", help="write the results")
    parser.add_argument("--resume", action="store_true", help="with --out: go on with an interrupted run; its finished batches are kept")
    parser.add_argument("--detail", type=int, metavar="N", help="samples to keep every neuron of in --out (default: 1000, fewer if large)")
    parser.add_argument("--spikes", action="store_true", help="also keep every spike train, for the samples in detail")
    parser.add_argument("--residual", action="store_true", help="also work out the residual ||f(a) - a|| after every step; kept in --out")
    parser.add_argument("--report", type=Path, metavar="report.html", help="write a page with the comparison")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="with --report: every figure as PNG, its data as CSV")
    parser.add_argument("--model", type=Path, metavar="model.pt", help="the trained network, to compare with as well")
    parser.add_argument("--no-compare", action="store_true", help="run only")
    parser.add_argument("--package", type=Path, metavar="DIR", help="do not run: make a folder to copy to a machine with a board")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_threshold_options(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """0 ran and passed the comparison, 1 did not pass, 2 bad input, 3 that backend cannot run here."""
    return run_command("fsnn-run", _run, _parser().parse_args(argv))


def _run(args: argparse.Namespace) -> int:
    if args.package is not None:
        return _package(args)
    require(args.backend)
    if args.no_compare and (args.report or args.model or thresholds(args) != Thresholds()):
        raise BadArgument("--report, --model and thresholds are the comparison's: leave out --no-compare")
    if args.figures is not None and args.report is None:
        raise BadArgument("--figures are those of a report: give --report too")
    if args.detail is not None and args.detail < 0:
        raise BadArgument(f"--detail must be 0 or more samples, got {args.detail}")
    if args.resume and args.out is None:
        raise BadArgument("--resume goes on with the run into a results file: give --out")
    chip = ChipNetwork.load(find(args.network))
    dataset = _dataset(args, chip)
    number = _number(args, dataset)
    model = None if args.model is None else _model(args.model)
    comparator = None if args.no_compare else _comparator(args, chip, model)
    who = Processes.from_environment()
    job = Job(
        chip=chip,
        split=dataset.test,
        number=number,
        batch=checked_batch(chip, args.batch, number, backend=args.backend),
        data=dataset.name,
        options=_options(args, chip),
        detail=args.detail,
        judged=_judged(args),
        resume=args.resume or who.restarted,
        again=command_line() if args.resume else f"{command_line()} --resume",
    )
    sample = _FirstSamples(REPORT_SAMPLES if args.report and args.out is None else 0)
    totals = _totals(args, job, who, comparator, sample)
    if totals is None:
        return 0
    verdict = None if comparator is None else comparator.verdict()
    if verdict is not None and args.report is not None:
        _report(args, chip, verdict, sample, model)
    _say(args, chip, dataset, totals, verdict)
    return 0 if verdict is None or verdict.passed else 1


def _options(args: argparse.Namespace, chip: ChipNetwork) -> dict[str, Any]:
    """Those of run_batches."""
    wanted = {"spikes": args.spikes, "residual": args.residual}
    return {"backend": args.backend, "graph": args.graph, "steps": checked_steps(chip, args.steps), **wanted}


def _totals(args: argparse.Namespace, job: Job, who: Processes, comparator: Any, sample: _FirstSamples) -> Totals | None:
    """Run; nothing for a process whose share another one joins."""
    if args.out is not None:
        return run_to_file(job, args.out, who, comparator, _progress, lambda said: print(f"fsnn-run: {said}", file=sys.stderr))
    if who.size > 1:
        raise BadArgument(f"{who.size} processes meet in the results file: give --out")
    return run_in_memory(job, [sample] if comparator is None else [comparator, sample], _progress)


def _judged(args: argparse.Namespace) -> str:
    """What the comparison depends on beside the run: its thresholds and the model."""
    if args.no_compare:
        return "no"
    model = "no model" if args.model is None else f"model {hashlib.sha256(args.model.read_bytes()).hexdigest()[:16]}"
    asked = {name: value for name, value in asdict(thresholds(args)).items() if value not in (None, "none")}
    return f"{model}, {asked}" if asked else model


def _package(args: argparse.Namespace) -> int:
    from fsnn_lava.running.bundle import package

    path = find(args.network)
    dataset = _dataset(args, ChipNetwork.load(path))
    few = slice(0, _number(args, dataset))
    made = package(path, dataset.test.batch(few), args.package, labels=dataset.test.labels[few], steps=args.steps)
    said = f"wrote {made}: copy it to the machine with the board, then sh {made.name}/run.sh --check"
    print(json.dumps({"package": str(made)}) if args.json else said)
    return 0


def _dataset(args: argparse.Namespace, chip: ChipNetwork) -> Dataset:
    name = args.data or chip.notes.get("data") or (DEFAULT if args.network == DEFAULT else None)
    if name is None:
        raise BadArgument(f"{args.network} does not say what it was trained on: give --data ({', '.join(NAMES)}, or an .npz file)")
    return load(name, args.data_dir)


def _number(args: argparse.Namespace, dataset: Dataset) -> int:
    if args.limit is not None and args.limit < 1:
        raise BadArgument(f"--limit must be at least 1, got {args.limit}")
    if len(dataset.test) == 0:
        raise BadArgument(f"data set {dataset.name} has no test samples")
    return min(len(dataset.test), args.limit or len(dataset.test))


def _model(path: Path) -> Any:
    from fsnn_lava.nn.fsnn import FSNN

    return FSNN.load(path)


def _comparator(args: argparse.Namespace, chip: ChipNetwork, model: Any) -> Any:
    from fsnn_lava.verify.comparator import Comparator

    stock = args.backend == "loihi2" or (args.backend == "sim" and args.graph == "stock")
    return Comparator(chip, model=model, thresholds=thresholds(args), graph="stock" if stock else "")


class _FirstSamples:
    """Keeps the first samples of a run, for a report."""

    def __init__(self, number: int) -> None:
        self.missing = number
        self.parts: list[tuple[Result, NDArray[np.uint8], NDArray[np.int64] | None]] = []

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None:
        few = slice(0, self.missing)
        if self.missing > 0:
            self.parts.append((result.part(few), values[few], None if labels is None else labels[few]))
            self.missing -= min(self.missing, result.samples)

    def joined(self) -> tuple[Result, NDArray[np.uint8], NDArray[np.int64] | None]:
        parts, values, labels = zip(*self.parts)
        return concatenate(parts), np.concatenate(values), None if labels[0] is None else np.concatenate(labels)


def _report(args: argparse.Namespace, chip: ChipNetwork, verdict: Any, sample: _FirstSamples, model: Any) -> None:
    from fsnn_lava.report.report import write_report

    result, values, labels = sample.joined() if args.out is None else _kept(args.out)
    drawn: dict[str, Any] = {} if result is None else {"chip": chip, "result": result, "values": values, "labels": labels}
    write_report(args.report, verdict=verdict, model=model, figures=args.figures, command=command_line(), **drawn)


def _kept(path: Path) -> tuple[Result | None, NDArray[np.uint8] | None, NDArray[np.int64] | None]:
    """The first samples that a results file keeps in detail, as a report draws them."""
    with reading(path) as reader:
        end = min(reader.details, REPORT_SAMPLES)
        return (reader.detail(0, end), reader.values(0, end), reader.row("labels", 0, end)) if end else (None, None, None)


@contextmanager
def _progress(number: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; in a log a plain line for every tenth."""
    if sys.stderr.isatty():
        with tqdm(total=number, unit="sample", leave=False) as bar:
            yield lambda done: bar.update(done) and None
        return
    state = {"done": 0, "said": 0}

    def tell(done: int) -> None:
        state["done"] += done
        if 10 * state["done"] // number > state["said"]:
            state["said"] = 10 * state["done"] // number
            print(f"fsnn-run: {state['done']} of {number} samples", file=sys.stderr, flush=True)

    yield tell


def _say(args: argparse.Namespace, chip: ChipNetwork, dataset: Dataset, totals: Totals, verdict: Any) -> None:
    where = args.backend + (" (stock)" if args.graph == "stock" else "")
    if args.json:
        found = {"network": str(args.network), "digest": chip.digest(), "data": dataset.name, "backend": args.backend, "graph": args.graph}
        found.update(totals.to_dict(), out=None if args.out is None else str(args.out), verdict=verdict and verdict.to_dict())
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    print(f"{args.network} on {where}, {dataset.name}: {totals.to_text()}")
    if verdict is not None:
        print(verdict.to_text())
    for path in (args.out, args.report):
        if path is not None:
            print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
