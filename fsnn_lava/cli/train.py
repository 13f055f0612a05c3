"""fsnn-train: train a network from a recipe."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fsnn_lava.cli.command import run_command, spelled
from fsnn_lava.cli.outputs import check_outputs
from fsnn_lava.cli.parsers.train import train_parser
from fsnn_lava.errors import BackendFailed, BadArgument, FsnnError, Remark

if TYPE_CHECKING:
    from fsnn_lava.training.curves import Watcher
    from fsnn_lava.training.loop import Outcome
    from fsnn_lava.training.process_group import ProcessGroup


def fsnn_train(argv: Sequence[str] | None = None) -> int:
    """Run the `train` command with these arguments: 0 done, 1 diverged, 2 bad input, 130 interrupted with the last full epoch on disk."""
    return run_command("fsnn-train", execute_train, train_parser().parse_args(argv))


def execute_train(args: argparse.Namespace) -> int:
    """Execute fsnn-train after parsing: train the recipe and print the result."""
    if args.list or args.init is not None:
        return _show_recipes(args)
    if args.recipe is None:
        raise BadArgument("no recipe given: add a .toml file or the name of a shipped one, such as digits (--list shows all of them)")
    _take_old_spelling(args)
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


def _show_recipes(args: argparse.Namespace) -> int:
    """Execute --list and --init."""
    from fsnn_lava.training.shipped_recipes import copy_shipped_recipe, find_recipe, recipe_table

    if args.init is None:
        print(recipe_table())
        return 0
    copy_shipped_recipe(args.init, find_recipe(args.recipe or "digits"), data=_data_name(args))
    print(f"wrote {args.init}: change it, then run {spelled('fsnn-train')} {args.init}")
    return 0


def _take_old_spelling(args: argparse.Namespace) -> None:
    """Accept the old meaning of --data, the folder of the data sets, if it names a folder that is not a data set itself."""
    if args.data is None or args.data_dir is not None or not Path(args.data).is_dir():
        return
    from fsnn_lava.data.loading import can_load_data

    if not can_load_data(Path(args.data)):
        warnings.warn(Remark(f"--data {args.data} is a folder of data sets: use --data-dir for that"), stacklevel=2)
        args.data, args.data_dir = None, Path(args.data)


def _data_name(args: argparse.Namespace) -> str | None:
    """Return --data as it is written in a recipe: a folder ends in a slash."""
    if args.data is not None and "/" not in args.data and Path(args.data.split(",")[0]).is_dir():
        return f"./{args.data}"
    return args.data


def _changes(args: argparse.Namespace) -> list[str]:
    """Return the keys that the command line overrides, including --data."""
    name = _data_name(args)
    return list(args.changes) if name is None else [*args.changes, f"data={json.dumps(name)}"]


def _train(args: argparse.Namespace, group: ProcessGroup) -> int:
    from fsnn_lava.compiled.threads import set_thread_count
    from fsnn_lava.training.loop import train
    from fsnn_lava.training.progress import TrainingProgress
    from fsnn_lava.training.recipe import load_recipe
    from fsnn_lava.training.samples import load_samples
    from fsnn_lava.training.shipped_recipes import find_recipe

    path = find_recipe(args.recipe)
    check_outputs({"--curves": args.curves}, [path, args.data])
    recipe = load_recipe(path, changes=_changes(args))
    if args.threads is not None:
        if args.threads < 1:
            raise BadArgument(f"--threads must be at least 1, got {args.threads}")
        set_thread_count(args.threads)
    folder = args.out or Path("runs") / path.stem
    progress = TrainingProgress(quiet=not group.first, watchers=_watchers(args) if group.first else ())
    data = load_samples(recipe, root=args.data_dir, download=args.download)
    outcome = train(recipe, data, folder, resume=args.resume, progress=progress, group=group)
    if group.first:
        _show(args, outcome)
    return 0


def _watchers(args: argparse.Namespace) -> tuple[Watcher, ...]:
    """Return the requested watchers; fails before the first epoch if one is not available here."""
    if args.curves is None and args.tensorboard is None:
        return ()
    from fsnn_lava.training.curves import curves, tensorboard_curves

    wanted = ((curves, args.curves), (tensorboard_curves, args.tensorboard))
    return tuple(make(place) for make, place in wanted if place is not None)


def _show(args: argparse.Namespace, outcome: Outcome) -> None:
    """Print the result."""
    folder = outcome.folder
    if args.json:
        print(json.dumps({**dataclasses.asdict(outcome), "folder": str(folder)}))
        return
    epochs = "1 epoch" if outcome.epochs == 1 else f"{outcome.epochs} epochs"
    print(
        f"{epochs} in {outcome.seconds:.0f} s: {outcome.judged_by} accuracy {outcome.last_accuracy:.2%} in "
        f"{folder / 'last.pt'}, best {outcome.best_accuracy:.2%} (epoch {outcome.best_epoch}) in {folder / 'best.pt'}"
        + ("" if outcome.test_accuracy is None else f"; test accuracy of best.pt {outcome.test_accuracy:.2%}")
    )


if __name__ == "__main__":
    sys.exit(fsnn_train())
