"""Compare training with two processes to training with one on the joint batch: do the losses agree, and how much faster is it?

    python bench/processes.py [--architecture TEXT] [--steps N] [--samples N] [--epochs N] [--rounds N] [--json FILE]

The data are random images in the shape of MNIST. `one` is one process with one thread, `two` are two processes under torchrun with one
thread each, and `threads` is one process with two threads. Times are those of the epochs in the log; the shortest of several interleaved
rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

RECIPE = """data = "{data}"
architecture = "{architecture}"
neuron = "if"
steps = {steps}
epochs = {epochs}
batch = 128
dropout = 0.2
seed = 1
"""
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
WAYS = {"one": ([], "1"), "two": (TORCHRUN, "1"), "threads": ([], "2")}


def write_data(path: Path, samples: int) -> None:
    """Return noisy copies of one random image per class, so that there is something to learn."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, samples + 200)
    images = rng.integers(0, 128, (10, 1, 28, 28))[labels] + rng.integers(0, 128, (samples + 200, 1, 28, 28))
    images = images.astype(np.uint8)
    np.savez(path, x_train=images[:samples], y_train=labels[:samples], x=images[samples:], y=labels[samples:])


def run(way: str, recipe: Path, out: Path) -> list[dict[str, Any]]:
    """Train once and return the log."""
    launcher, threads = WAYS[way]
    command = [sys.executable, *launcher, "-m", "fsnn_lava.cli.train", str(recipe), "--out", str(out), "--threads", threads]
    settings = {**os.environ, "OMP_NUM_THREADS": threads}
    done = subprocess.run(command, env=settings, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="64C5s (F64C5)")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--samples", type=int, default=1280)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    seconds: dict[str, float] = {}
    losses: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder / "data.npz", args.samples)
        recipe = folder / "recipe.toml"
        recipe.write_text(RECIPE.format(data=folder / "data.npz", architecture=args.architecture, steps=args.steps, epochs=args.epochs))
        for turn in range(args.rounds):
            for way in WAYS:
                log = run(way, recipe, folder / f"{way}-{turn}")
                seconds[way] = min(seconds.get(way, float("inf")), sum(epoch["seconds"] for epoch in log))
                losses[way] = [epoch["loss"] for epoch in log]
    print(f"{args.architecture}, T = {args.steps}, joint batch of 128, {args.samples} images, {args.epochs} epochs")
    for way in WAYS:
        print(f"  {way:8s} {seconds[way]:7.2f} s  {seconds['one'] / seconds[way]:5.2f}x   loss {' '.join(f'{x:.7f}' for x in losses[way])}")
    if args.json:
        args.json.write_text(json.dumps({"seconds": seconds, "losses": losses, **{k: v for k, v in vars(args).items() if k != "json"}}))


if __name__ == "__main__":
    main()
