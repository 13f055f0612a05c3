"""fsnn-train: train a network from a recipe."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fsnn_lava.cli.command import Parser, run_command
from fsnn_lava.errors import BackendFailed, BadArgument, FsnnError

if TYPE_CHECKING:
    from fsnn_lava.training.curves import Watcher
    from fsnn_lava.training.loop import Outcome
    from fsnn_lava.training.process_group import ProcessGroup


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, train and print the result; 0 done, 1 diverged, 2 bad input, 130 interrupted with the last full epoch on disk."""
    return run_command("fsnn-train", _run, _parser().parse_args(argv))


def _parser() -> Parser:
    parser = Parser(
        prog="fsnn-train",
        description="Train a feedback spiking network from a recipe. Every epoch writes best.pt, last.pt, state.pt and a line of the log.",
        epilog="On several processes: torchrun --standalone --nproc_per_node 2 -m fsnn_lava.cli.train RECIPE …",
    )
    parser.add_argument("recipe", type=Path, help="a recipe, for example train/digits.toml")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the run (default: runs/<name of the recipe>)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the data sets (default: $FSNN_DATA)")
    parser.add_argument("--download", action="store_true", help="download the data set if it is missing")
    parser.add_argument("--resume", action="store_true", help="continue the run in the folder; the result is bit-identical")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="changes", help="change a key of the recipe, for example seed=2"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads to compute with (default: all cores)")
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--curves", type=Path, metavar="PNG", help="plot loss, accuracy, rates and residuals; updated after every epoch")
    parser.add_argument("--tensorboard", type=Path, metavar="DIR", help="write the same curves for TensorBoard")
    return parser


def _run(args: argparse.Namespace) -> int:
    from fsnn_lava.training.process_group import process_group

    with process_group(args.device) as group:
        try:
            return _train(args, group)
        except BackendFailed:
            raise
        except FsnnError as error:  # only one of several processes reports it
            if group.first:
                raise
            return error.exit_code


def _train(args: argparse.Namespace, group: ProcessGroup) -> int:
    from fsnn_lava.compiled.threads import set_thread_count
    from fsnn_lava.training.log import TrainingProgress
    from fsnn_lava.training.loop import train
    from fsnn_lava.training.recipe import load_recipe
    from fsnn_lava.training.samples import load_samples

    recipe = load_recipe(args.recipe, changes=args.changes)
    if args.threads is not None:
        if args.threads < 1:
            raise BadArgument(f"--threads must be at least 1, got {args.threads}")
        set_thread_count(args.threads)
    folder = args.out or Path("runs") / args.recipe.stem
    progress = TrainingProgress(quiet=not group.first, watchers=_watchers(args) if group.first else ())
    data = load_samples(recipe, root=args.data, download=args.download)
    outcome = train(recipe, data, folder, resume=args.resume, progress=progress, group=group)
    if group.first:
        _show(args, outcome)
    return 0


def _watchers(args: argparse.Namespace) -> tuple[Watcher, ...]:
    """The watchers that were requested; if one is not available here, this fails before the first epoch."""
    if args.curves is None and args.tensorboard is None:
        return ()
    from fsnn_lava.training.curves import curves, tensorboard

    wanted = ((curves, args.curves), (tensorboard, args.tensorboard))
    return tuple(make(place) for make, place in wanted if place is not None)


def _show(args: argparse.Namespace, outcome: Outcome) -> None:
    """Print the result."""
    folder = outcome.folder
    if args.json:
        print(json.dumps({**dataclasses.asdict(outcome), "folder": str(folder)}))
        return
    print(
        f"{outcome.epochs} epochs in {outcome.seconds:.0f} s: {outcome.judged_by} accuracy {outcome.last_accuracy:.2%} in "
        f"{folder / 'last.pt'}, best {outcome.best_accuracy:.2%} (epoch {outcome.best_epoch}) in {folder / 'best.pt'}"
        + ("" if outcome.test_accuracy is None else f"; test accuracy of best.pt {outcome.test_accuracy:.2%}")
    )


if __name__ == "__main__":
    sys.exit(main())
