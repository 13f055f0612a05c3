"""fsnn-compare results.h5: is what ran still the network that was trained?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from fsnn_lava.cli.command import Parser, command_line, run_command
from fsnn_lava.cli.compare_options import add_threshold_options, thresholds
from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.formats.results import Reader, reading_results
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.verdict import Verdict

REPORT_SAMPLES = 256  # of a run, for a report


def _parser() -> Parser:
    parser = Parser(prog="fsnn-compare", description="Judge a finished run: every link of the chain separately.")
    parser.add_argument("results", type=Path, help="results.h5, written by fsnn-run")
    parser.add_argument(
        "--model",
        type=Path,
        metavar="model.pt",
        help="the float network: adds the checks of its spikes and of the shift, and the agreement",
    )
    parser.add_argument("--report", type=Path, metavar="report.html", help="write a page with figures")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="with --report: every figure as PNG, its data as CSV")
    parser.add_argument("--limit", type=int, metavar="N", help="compare only the first N samples")
    parser.add_argument("--equilibria", type=int, metavar="N", help="samples to solve a* for (default: depends on the network's size)")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    add_threshold_options(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0: the run passes; 1: it does not; 2: bad input."""
    return run_command("fsnn-compare", _run, _parser().parse_args(argv))


def _run(args: argparse.Namespace) -> int:
    for name in ("limit", "equilibria"):
        value = getattr(args, name)
        if value is not None and value < (1 if name == "limit" else 0):
            raise BadArgument(f"--{name} must be at least {1 if name == 'limit' else 0}, got {value}")
    if args.figures is not None and args.report is None:
        raise BadArgument("--figures writes the figures of a report: give --report too")
    wanted = thresholds(args)
    model = None if args.model is None else FSNN.load(args.model)
    with reading_results(args.results) as reader:
        verdict = compare_file(reader, model=model, wanted=wanted, limit=args.limit, equilibria=args.equilibria)
        print(json.dumps(verdict.to_dict(), indent=2) if args.json else verdict.to_text())
        if args.report is not None:
            _report(args, reader, verdict, model)
    return 0 if verdict.passed else 1


def compare_file(reader: Reader, *, model: FSNN | None, wanted: Thresholds, limit: int | None, equilibria: int | None) -> Verdict:
    """The verdict on the samples that a file keeps in detail; the accuracy counts all samples."""
    if reader.details == 0:
        raise BadFile("these results keep no sample in detail, so there is nothing to compare; run again with a larger --detail")
    chip, graph = reader.chip, reader.provenance.graph
    comparator = Comparator(chip, model=model, thresholds=wanted, graph=graph, equilibrium_samples=equilibria)
    end = min(reader.details, limit or reader.details)
    labels = reader.row("labels")
    for first in range(0, end, comparator.batch_size):
        last = min(end, first + comparator.batch_size)
        comparator.add(reader.detail(first, last), reader.values(first, last), labels[first:last])
    rest = slice(end, reader.samples if limit is None else min(reader.samples, limit))
    comparator.add_answers(reader.row("predictions")[rest], labels[rest])
    return comparator.verdict()


def _report(args: argparse.Namespace, reader: Reader, verdict: Verdict, model: FSNN | None) -> None:
    from fsnn_lava.report.report import write_report

    end = min(reader.details, REPORT_SAMPLES)
    labels = reader.row("labels", 0, end)
    write_report(
        args.report,
        verdict=verdict,
        chip=reader.chip,
        result=reader.detail(0, end),
        values=reader.values(0, end),
        labels=None if (labels < 0).any() else labels,
        model=model,
        figures=args.figures,
        command=command_line(),
    )


if __name__ == "__main__":
    sys.exit(main())
