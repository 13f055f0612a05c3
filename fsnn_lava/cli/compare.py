"""fsnn-compare results.h5 [other.h5]: check whether the network that ran is still the one that was trained, or compare two runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from fsnn_lava.cli.command import run_command
from fsnn_lava.cli.outputs import check_outputs
from fsnn_lava.cli.parsers.compare import compare_parser
from fsnn_lava.cli.parsers.threshold_options import thresholds
from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.formats.results import ResultsReader, reading_results
from fsnn_lava.models.find import MODEL, find_model
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.run_pair import common_samples, compare_runs, require_same_classes, run_names
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.verdict import Verdict

ROWS_AT_ONCE = 4096
READ_AT_ONCE = 64  # samples with full detail
JUDGED_ROWS = ("predictions", "logits", "readout", "layer_spikes", "updates", "clip_count", "operations")
DELTA_ROWS = ("messages", "cycles")


def fsnn_compare(argv: Sequence[str] | None = None) -> int:
    """Run the `compare` command with these arguments. Exit code 0: the run passes; 1: it does not; 2: bad input."""
    return run_command("fsnn-compare", execute_compare, compare_parser().parse_args(argv))


def execute_compare(args: argparse.Namespace) -> int:
    """Execute fsnn-compare after parsing: judge the results file and print the verdict."""
    for name in ("limit", "equilibria"):
        value = getattr(args, name)
        if value is not None and value < (1 if name == "limit" else 0):
            raise BadArgument(f"--{name} must be at least {1 if name == 'limit' else 0}, got {value}")
    if args.figures is not None and args.report is None:
        raise BadArgument("--figures writes the figures of a report: add --report")
    wanted = thresholds(args)
    path = None if args.model is None else find_model(args.model, file=MODEL)
    check_outputs({"--report": args.report}, [args.results, args.other, path])
    model = None if path is None else FSNN.load(path)
    if args.other is not None:
        return _compare_two(args, model, wanted)
    with reading_results(args.results) as reader:
        verdict = _compare_file(reader, model=model, wanted=wanted, limit=args.limit, equilibria=args.equilibria)
        print(json.dumps(verdict.to_dict(), indent=2) if args.json else verdict.to_text())
        if args.report is not None:
            _report(args, reader, verdict, model)
    return 0 if verdict.passed else 1


def _compare_two(args: argparse.Namespace, model: FSNN | None, wanted: Thresholds) -> int:
    """Compare two runs on the samples that both have, side by side; exit code 0 if both pass."""
    if args.figures is not None:
        raise BadArgument("--figures writes the figures of one run: pass a single results file")
    with reading_results(args.results) as first, reading_results(args.other) as second:
        readers, names = (first, second), run_names(args.results, args.other)
        require_same_classes(readers, names)
        common = common_samples(first, second)
        limit = min(common, args.limit or common) or args.limit
        verdicts = [_compare_file(r, model=model, wanted=wanted, limit=limit, equilibria=args.equilibria) for r in readers]
        pair = compare_runs(readers, (verdicts[0], verdicts[1]), names, common=common, limit=limit)
        print(json.dumps(pair.to_dict(), indent=2) if args.json else pair.to_text())
        if args.report is not None:
            from fsnn_lava.report.pair_page import write_pair_report

            write_pair_report(args.report, pair, readers)
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def _compare_file(reader: ResultsReader, *, model: FSNN | None, wanted: Thresholds, limit: int | None, equilibria: int | None) -> Verdict:
    """Return the verdict on the samples that a file stores in detail; the accuracy counts all samples."""
    if reader.details == 0:
        raise BadFile("this file stores no samples in detail, so there is nothing to compare; run again with a larger --detail")
    chip, graph = reader.chip, reader.provenance.graph
    comparator = Comparator(chip, model=model, thresholds=wanted, graph=graph, equilibrium_samples=equilibria, from_file=True)
    end = min(reader.details, limit or reader.details)
    labels = reader.row("labels")
    together = max(comparator.batch_size, READ_AT_ONCE)
    for first in range(0, end, together):
        last = min(end, first + together)
        result = reader.detail(first, last)
        comparator.add(result, reader.values(first, last), labels[first:last])
        comparator.record.add_layer_spikes(reader.row("layer_spikes", first, last), result.counts, first=first)
    rest = slice(end, reader.samples if limit is None else min(reader.samples, limit))
    comparator.add_answers(reader.row("predictions")[rest], labels[rest])
    _judge_rows(comparator, reader, rest.stop)
    return comparator.verdict()


def _judge_rows(comparator: Comparator, reader: ResultsReader, end: int) -> None:
    """Check what the file stores for every sample: is it unchanged, and is it consistent?"""
    hashed = reader.hashes is not None or reader.details == reader.samples  # of those, the hash of the data is enough
    comparator.record.add_changed(reader.changed_columns(), hashed=hashed)
    names = [*JUDGED_ROWS, *(DELTA_ROWS if reader.chip.delta is not None else ()), *(("residual",) if reader.has_residual else ())]
    scale = comparator.chip.readout_scale
    for first in range(0, end, ROWS_AT_ONCE):
        rows = {name: reader.row(name, first, min(end, first + ROWS_AT_ONCE)) for name in names}
        comparator.record.add_rows(rows, steps=reader.provenance.steps, first=first, readout_scale=scale)


def _report(args: argparse.Namespace, reader: ResultsReader, verdict: Verdict, model: FSNN | None) -> None:
    from fsnn_lava.report.evidence import Origin, samples_kept_as_evidence
    from fsnn_lava.report.mistakes import mistakes_to_show
    from fsnn_lava.report.report import write_report

    end = min(reader.details, samples_kept_as_evidence(reader.chip), args.limit or reader.details)
    origin = reader.provenance
    labels = reader.row("labels", 0, end)
    write_report(
        args.report,
        verdict=verdict,
        chip=reader.chip,
        result=reader.detail(0, end),
        values=reader.values(0, end),
        labels=None if (labels < 0).any() else labels,
        model=model,
        inputs={sample: reader.values(sample, sample + 1)[0] for sample in mistakes_to_show(verdict)},
        figures=args.figures,
        origin=Origin(data=origin.data, date=origin.date, command=origin.command),
    )


if __name__ == "__main__":
    sys.exit(fsnn_compare())
