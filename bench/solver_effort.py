"""Measure accuracy against the effort of the gradient's solver: the same recipe with several solvers and seeds.

    python bench/solver_effort.py RECIPE [--data DIR] [--epochs N] [--samples N] [--seeds 1 2] [--set KEY=VALUE] [--json FILE]

For example: python bench/solver_effort.py train/fashion-mnist-lif.toml --epochs 10. The settings are 'none' (the
Jacobian-free gradient), relative residuals to stop at, and the paper's Broyden. The learning rate is divided by 10 after two thirds of
the epochs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from fsnn_lava.training.loop import train
from fsnn_lava.training.recipe import Recipe, load_recipe
from fsnn_lava.training.samples import load_samples

SETTINGS: dict[str, list[str]] = {
    "none": ["solver.max_steps=0"],
    "residual 0.1": ["solver.method=gmres", "solver.tol=0.1"],
    "residual 1e-2": ["solver.method=gmres", "solver.tol=1e-2"],
    "residual 1e-4": ["solver.method=gmres", "solver.tol=1e-4"],
    "Broyden, 30": ["solver.method=broyden", "solver.tol=1e-12", "solver.max_steps=30"],
}


def recipe_of(args: argparse.Namespace, setting: list[str], seed: int) -> Recipe:
    changes = [
        f"seed={seed}",
        f"epochs={args.epochs}",
        f"train_samples={args.samples}",
        f"learning_rate.every={max(1, 2 * args.epochs // 3)}",
    ]
    return load_recipe(args.recipe, changes=[*changes, *args.set, *setting])


def measure(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """Return the test accuracy of the last epoch for every seed, and what the solver did on average."""
    accuracies, steps, milliseconds = [], [], []
    for seed in args.seeds:
        recipe = recipe_of(args, SETTINGS[name], seed)
        data = load_samples(recipe, root=args.data)
        with tempfile.TemporaryDirectory() as folder:
            outcome = train(recipe, data, Path(folder) / "run")
            log = [json.loads(line) for line in (Path(folder) / "run" / "log.jsonl").read_text().splitlines()]
        accuracies.append(100 * outcome.last_accuracy)
        steps.append(statistics.mean(record["solver_steps"] for record in log))
        milliseconds.append(1e3 * outcome.seconds / args.epochs / max(1, len(data.train) // recipe.batch))
    return {"setting": name, "accuracies": accuracies, "products": statistics.mean(steps), "ms": statistics.mean(milliseconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--data", type=Path, help="folder that contains the data sets (default: $FSNN_DATA)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=0, help="how many training samples to use (0: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another change to the recipe")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    print(f"{args.recipe.name}, {args.epochs} epochs, seeds {', '.join(map(str, args.seeds))}: accuracy of the last epoch")
    for name in args.settings:
        rows.append(measure(args, name))
        accuracies = " ".join(f"{value:6.2f}" for value in rows[-1]["accuracies"])
        print(f"  {name:14s} {accuracies}   mean {statistics.mean(rows[-1]['accuracies']):.2f}   products {rows[-1]['products']:.1f}   "
              f"{rows[-1]['ms']:.1f} ms per iteration, including testing", flush=True)  # fmt: skip
    if args.json:
        args.json.write_text(
            json.dumps(
                {"recipe": args.recipe.name, "epochs": args.epochs, "samples": args.samples, "set": args.set, "rows": rows}, indent=1
            )
        )


if __name__ == "__main__":
    main()
