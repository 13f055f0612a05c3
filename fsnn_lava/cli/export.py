"""fsnn-export model.pt net.h5: fold, quantise, write, read back, check."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime, timezone

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.cli.command import command_as_typed, run_command
from fsnn_lava.cli.export_table import EXPLANATION, export_table
from fsnn_lava.cli.outputs import check_outputs
from fsnn_lava.cli.parsers.export import SUFFIXES, export_parser
from fsnn_lava.cli.progress import named_phase
from fsnn_lava.data import Dataset, Split, load_data
from fsnn_lava.errors import BadArgument, FsnnError
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.models.find import MODEL, find_model
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.placement.board import load_board
from fsnn_lava.placement.chip_bits import bits_for_board
from fsnn_lava.placement.placement import Placement, place
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.quantise import quantise
from fsnn_lava.quantisation.quantise_options import own_encoding
from fsnn_lava.verify.export import Exported, ExportRefused, Read, Samples, Write, affordable_export_samples, export
from fsnn_lava.verify.verdict import plain_values

CALIBRATION_SAMPLES = 128
REPORT_SAMPLES = 256


def fsnn_export(argv: Sequence[str] | None = None) -> int:
    """Run the `export` command with these arguments."""
    return run_command("fsnn-export", execute_export, export_parser().parse_args(argv))


def execute_export(args: argparse.Namespace) -> int:
    """Execute fsnn-export after parsing: quantise the model, check it and write the file."""
    write, read = _format(args)
    if args.limit is not None and args.limit < 1:
        raise BadArgument(f"--limit must be at least 1, got {args.limit}")
    path = find_model(args.model, file=MODEL)
    check_outputs({"the network": args.network, "--report": args.report}, [path, args.data])
    net = FSNN.load(path)
    dataset, note = _dataset(args, net)
    _check_report(args, dataset)
    calibration = None if dataset is None else _first(dataset.train if len(dataset.train) else dataset.test, CALIBRATION_SAMPLES)[0]
    args.encoding = args.encoding or own_encoding(net.neuron)
    bits = _bits(args, net) if args.target is None else _bits_of_target(args, net, calibration)
    try:
        outcome = export(
            net,
            args.network,
            write=write,
            read=read,
            bits=bits,
            input=args.input,
            reset=args.reset,
            per_channel=args.per_channel or (args.target is None and args.encoding == "rate" and _trained_bits(net) == bits),
            steps=args.steps,
            encoding=args.encoding,
            dead_band=args.dead_band,
            calibration=calibration,
            test=None if dataset is None else Samples(*_first(dataset.test, args.limit or _limit(net, args.steps))),
            max_drop=args.max_drop,
            force=args.force,
            notes=_notes(args, net),
            phase=named_phase,
        )
    except ExportRefused as refused:
        _print(args, refused.outcome, note, kept=False)
        raise
    _print(args, outcome, note, kept=True, placement=place(read(args.network), board=args.board, steps=args.steps))
    if args.report is not None and dataset is not None:
        _report(args, net, read, dataset)
    return 0 if outcome.passed else 1


def _format(args: argparse.Namespace) -> tuple[Write, Read]:
    """Return the writer and reader for the format given by the file name; raise BadArgument if the suffix is unknown."""
    name = args.format or next((key for key, endings in SUFFIXES.items() if args.network.suffix in endings), None)
    if name is None or args.network.suffix not in SUFFIXES[name]:
        endings = SUFFIXES[name] if name else tuple(e for group in SUFFIXES.values() for e in group)
        raise BadArgument(f"{args.network}: the file name must end in {' or '.join(endings)}")
    if name == "nir":
        from fsnn_lava.formats import nir

        return nir.write_nir, nir.read_nir
    from fsnn_lava.formats import netx

    return netx.write_netx, netx.read_netx


def _trained_bits(net: FSNN) -> int | None:
    """Return the bits for which the model was trained with fake quantisation; None if it was not."""
    bits = net.metrics.get("bits")
    return int(bits) if isinstance(bits, (int, float)) else None


def _bits(args: argparse.Namespace, net: FSNN) -> int:
    return int(args.bits) if args.bits is not None else _trained_bits(net) or 8


def _bits_of_target(args: argparse.Namespace, net: FSNN, calibration: NDArray[np.uint8] | None) -> int:
    """Return the largest number of bits that the board can run, at most --bits."""
    if args.encoding == "delta" or args.per_channel:
        raise BadArgument("--target loihi2 needs spikes and one threshold per layer: use --encoding rate, without --per-channel")

    def rounded(bits: int) -> ChipNetwork:
        return quantise(
            net, bits=bits, input=args.input, reset=args.reset, steps=args.steps, encoding=args.encoding, calibration=calibration
        )

    return bits_for_board(rounded, load_board(args.board), most=_bits(args, net), steps=args.steps)


def _dataset(args: argparse.Namespace, net: FSNN) -> tuple[Dataset | None, str]:
    """Return the data set named by --data, else the training data set, else none; and a note that says which."""

    def load(name: str) -> Dataset:
        targets, shape = "task" in net.metrics, net.architecture.input_shape
        return _fitting(load_data(name, args.data_dir, download=args.download, targets=targets, shape=shape), net, name)

    if args.data is not None:
        return load(str(args.data)), f"calibrated and tested on {args.data}"
    trained_on = net.metrics.get("data")
    if isinstance(trained_on, str):
        try:
            return load(trained_on), f"calibrated and tested on {trained_on}, its training data set"
        except FsnnError:
            return None, f"calibrated on synthetic data: {trained_on} was not found (use --data-dir)"
    return None, "calibrated on synthetic data: no --data was given"


def _fitting(dataset: Dataset, net: FSNN, name: str) -> Dataset:
    shape, wanted = tuple(dataset.test.shape), net.architecture.input_shape
    if shape != wanted and shape[1:] != wanted:
        raise BadArgument(f"{name} has samples of shape {shape}, but the model takes {wanted}")
    return dataset


def _first(split: Split, number: int) -> tuple[NDArray[np.uint8], NDArray[np.int64] | None]:
    """Return the first `number` samples and their classes; None if they have targets instead."""
    indices = np.arange(min(number, len(split)))
    return split.batch(indices), None if split.targets is not None else np.asarray(split.labels)[indices]


def _check_report(args: argparse.Namespace, dataset: Dataset | None) -> None:
    if args.figures is not None and args.report is None:
        raise BadArgument("--figures writes the figures of a report: add --report")
    if args.report is not None and dataset is None:
        raise BadArgument("a report shows a run on data, but there is no data: add --data")


def _report(args: argparse.Namespace, net: FSNN, read: Read, dataset: Dataset) -> None:
    """Run the written file on the emulator, judge the run and write the report."""
    from fsnn_lava.report.evidence import Origin
    from fsnn_lava.report.report import write_report
    from fsnn_lava.running.run import run as run_network
    from fsnn_lava.verify.comparator import compare

    chip = read(args.network)
    values, labels = _first(dataset.test, min(args.limit or REPORT_SAMPLES, REPORT_SAMPLES))
    if chip.input.kind == "events":
        values = values[:, : chip.steps]
    result = run_network(chip, values)
    verdict = compare(result, chip, values, labels=labels, model=net)
    write_report(
        args.report,
        verdict=verdict,
        chip=chip,
        result=result,
        values=values,
        labels=labels,
        model=net,
        figures=args.figures,
        origin=Origin(data=dataset.name, date=datetime.now(timezone.utc).isoformat(timespec="seconds"), command=command_as_typed()),
    )


def _limit(net: FSNN, steps: int | None) -> int:
    """Return the default number of test samples: 500, or as many as can run in about half a minute in float64."""
    return affordable_export_samples(fold(net), 500, steps or net.steps)


def _notes(args: argparse.Namespace, net: FSNN) -> dict[str, str]:
    notes = {"model": args.model.name}
    notes.update({key if key in ("data", "imported", "task") else f"trained {key}": str(value) for key, value in net.metrics.items()})
    return notes


def _print(args: argparse.Namespace, outcome: Exported, note: str, *, kept: bool, placement: Placement | None = None) -> None:
    if args.json:
        board = {} if placement is None else {"board": {key: placement.to_dict()[key] for key in ("board", "answer", "verdict")}}
        print(json.dumps(plain_values({**outcome.as_dict(), "kept": kept, "notes": [note], **board}), indent=2, allow_nan=False))
        return
    print(export_table(outcome, note, kept=kept))
    if placement is not None and placement.answer != "runs":
        print(f"warning: on {placement.board.name} (fsnn-map) this network {placement.verdict}")
    if args.explain:
        print(EXPLANATION)


if __name__ == "__main__":
    sys.exit(fsnn_export())
