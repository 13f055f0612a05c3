"""fsnn-tune model.pt net.h5: find the cheapest network on a board that keeps the accuracy, and the trade-offs around it."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from fsnn_lava.cli.command import run_command
from fsnn_lava.cli.outputs import check_outputs
from fsnn_lava.cli.parsers.tune import tune_parser
from fsnn_lava.compiled.threads import thread_count
from fsnn_lava.data import Dataset, load_data
from fsnn_lava.errors import BadArgument, BadData, CheckFailed, Interrupted
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.formats.netx import read_netx, write_netx
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.limits import WEIGHT_BITS
from fsnn_lava.models.find import MODEL, find_model
from fsnn_lava.nn.dynamics import own_delay
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.placement.board import load_board
from fsnn_lava.tuning.bench import Bench
from fsnn_lava.tuning.candidate import BITS, Candidate, candidates
from fsnn_lava.tuning.choice import cheapest, check_choice_resolution, confidence, front
from fsnn_lava.tuning.front_plot import check_front_plot_suffix, write_front
from fsnn_lava.tuning.front_table import chosen_sentence, front_table
from fsnn_lava.tuning.held_out import HeldOut, hold_out
from fsnn_lava.tuning.journal import TuningJournal
from fsnn_lava.tuning.search import search
from fsnn_lava.tuning.trial import Trial

SUFFIXES = (".h5", ".hdf5", ".net")
BATCH = 250  # samples per batch of the float network
MARKS = "* chosen, + keeps the accuracy, - keeps it, but the board cannot run it; time and energy are estimates without host I/O"


def fsnn_tune(argv: Sequence[str] | None = None) -> int:
    """Run the `tune` command with these arguments."""
    return run_command("fsnn-tune", execute_tune, tune_parser().parse_args(argv))


def execute_tune(args: argparse.Namespace) -> int:
    """Execute fsnn-tune after parsing: try all candidates, write the cheapest that keeps the accuracy, and print the trade-offs."""
    _check_arguments(args)
    model = find_model(args.model, file=MODEL)
    check_outputs({"the network": args.network, "--figure": args.figure}, [model, args.data])
    net = FSNN.load(model)
    dataset = _dataset(args, net)
    held = hold_out(dataset.train, net, samples=args.samples, seed=args.seed)
    check_choice_resolution(len(held.labels), args.max_drop)
    reference = _float_answers(net, held)
    bench = Bench(net, held.calibration, held.values, held.labels, reference, load_board(args.board))
    trials = _search(args, bench, _wanted(args, net), hashlib.sha256(Path(model).read_bytes()).hexdigest(), dataset)
    best, chosen = front(trials), cheapest(trials, max_drop=args.max_drop, emulated=args.emulated)
    if args.figure is not None:
        write_front(args.figure, trials, best, chosen, reference=float(reference.mean()))
    if chosen is not None:
        _write(args.network, bench, chosen, dataset.name)
    _print(args, held, float(reference.mean()), trials, best, chosen)
    return 0 if chosen is not None else 1


def _check_arguments(args: argparse.Namespace) -> None:
    if args.network.suffix not in SUFFIXES:
        raise BadArgument(f"{args.network}: the file name must end in {' or '.join(SUFFIXES)}")
    if args.figure is not None:
        check_front_plot_suffix(args.figure)
    if args.bits is not None and not set(args.bits) <= set(WEIGHT_BITS):
        raise BadArgument(f"--bits must be between {WEIGHT_BITS[0]} and {WEIGHT_BITS[-1]}, got {' '.join(map(str, args.bits))}")
    if args.processes is not None and args.processes < 1:
        raise BadArgument(f"--processes must be at least 1, got {args.processes}")


def _dataset(args: argparse.Namespace, net: FSNN) -> Dataset:
    name = args.data if args.data is not None else net.metrics.get("data")
    if not isinstance(name, str):
        raise BadArgument("the model does not say what it was trained on: add --data")
    dataset = load_data(name, args.data_dir, download=args.download, shape=net.architecture.input_shape)
    if not len(dataset.train):
        raise BadData(f"{name} has no training samples, and tuning never looks at test samples: add some as x_train and y_train")
    if tuple(dataset.shape) != net.architecture.input_shape:
        raise BadArgument(f"{name} has samples of shape {tuple(dataset.shape)}, but the model takes {net.architecture.input_shape}")
    if dataset.kind == "events":
        raise BadArgument("fsnn-tune needs images: the number of steps of an event recording is fixed by its frames")
    return dataset


def _wanted(args: argparse.Namespace, net: FSNN) -> tuple[Candidate, ...]:
    trained = net.metrics.get("bits")
    bits = args.bits or ([int(trained)] if isinstance(trained, (int, float)) else BITS)
    ends = [net.graph.ends(one) for one in net.graph.feedback]
    loop = max((own_delay(source, target, "pipelined") for source, target in ends), default=None)
    return candidates(steps=net.steps, layers=len(net.architecture.layers), encodings=args.encodings, bits=bits, loop=loop)


@torch.no_grad()
def _float_answers(net: FSNN, held: HeldOut) -> NDArray[np.bool_]:
    """Return whether the float network classifies each sample correctly, run with spikes and its own number of steps."""
    starts = range(0, len(held.labels), BATCH)
    answers = [net(torch.from_numpy(held.values[start : start + BATCH])).argmax(1).numpy() for start in starts]
    return np.asarray(np.concatenate(answers) == held.labels)


def _search(args: argparse.Namespace, bench: Bench, wanted: Sequence[Candidate], model: str, dataset: Dataset) -> list[Trial]:
    identity = {
        "model": model,
        "data": dataset.name,
        "samples": len(bench.labels),
        "seed": args.seed,
        "board": bench.board.name,
        "candidates": [candidate.to_dict() for candidate in wanted],
    }
    journal = TuningJournal(args.network.with_name(f"{args.network.name}.tuning"), identity)
    try:
        with _progress(len(wanted)) as progress:
            trials = search(bench, wanted, journal, processes=args.processes or thread_count(), resume=args.resume, progress=progress)
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted; finished trials are kept in {journal.path}: continue with --resume") from error
    journal.close()
    return trials


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal, or a line for every tenth of the trials in a log."""
    if sys.stderr.isatty():
        with tqdm(total=total, leave=False, unit=" trials", file=sys.stderr) as bar:
            yield lambda done, _: bar.update(done - bar.n)
        return
    said = [0]

    def say(done: int, total: int) -> None:
        if 10 * done // total > said[0]:
            said[0] = 10 * done // total
            print(f"fsnn-tune: {done} of {total} trials", file=sys.stderr, flush=True)

    yield say


def _write(path: Path, bench: Bench, chosen: Trial, data: str) -> None:
    """Write the chosen network, and read it back."""
    chip: ChipNetwork = bench.build(chosen.candidate)
    chip.notes.update({"data": data, "tuned": str(chosen.candidate)})
    with atomic_path(path) as temporary:
        write_netx(chip, temporary)
        if not read_netx(temporary).digest() == chip.digest() == chosen.digest:
            raise CheckFailed(f"{path}: the network read back from the file differs from the one that was tried")


def _print(
    args: argparse.Namespace, held: HeldOut, reference: float, trials: Sequence[Trial], best: Sequence[Trial], chosen: Trial | None
) -> None:
    if args.json:
        print(json.dumps(_values(args, held, reference, trials, best, chosen), indent=2, ensure_ascii=False))
        return
    failed = sum(bool(trial.failure) for trial in trials)
    print(
        f"{len(trials)} candidates ({failed} cannot be built or are clipped) on {held.sentence}; "
        f"the float network classifies {reference:.2%} of them correctly"
    )
    print(front_table(best, chosen, max_drop=args.max_drop))
    print(MARKS)
    if chosen is None:
        print(f"nothing was written: no candidate that {args.board} runs loses at most {args.max_drop:g} points")
        return
    print(f"{args.network}: {chosen_sentence(chosen, reference, max_drop=args.max_drop)}")
    cheaper = cheapest(trials, max_drop=args.max_drop, emulated=True)
    if cheaper is not None and cheaper.price() < chosen.price():
        print(f"cheaper, but {args.board} cannot run it yet (--emulated writes it): {cheaper.candidate}")


def _values(
    args: argparse.Namespace, held: HeldOut, reference: float, trials: Sequence[Trial], best: Sequence[Trial], chosen: Trial | None
) -> dict[str, Any]:
    described = {id(trial): {**trial.to_dict(), "accuracy": trial.accuracy, "drop": trial.drop} for trial in trials}
    sure = None if chosen is None else confidence(chosen, max_drop=args.max_drop)
    return {
        "network": str(args.network) if chosen is not None else None,
        "board": str(args.board),
        "max_drop": args.max_drop,
        "samples": len(held.labels),
        "unseen": held.unseen,
        "float_accuracy": reference,
        "confidence": sure,
        "chosen": None if chosen is None else described[id(chosen)],
        "front": [described[id(trial)] for trial in best],
        "trials": [described[id(trial)] for trial in trials],
    }


if __name__ == "__main__":
    sys.exit(fsnn_tune())
