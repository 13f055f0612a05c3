"""Measure what a cost penalty in training, delta encoding, and both together save, in 8 bits and on full test sets.

    python bench/budget.py [--networks mnist fashion-mnist] [--data-dir DIR] [--samples N] [--limit N] [--max-drop P] [--json]

Rate coding runs for the number of steps in the recipe. The dead band and the steps of delta encoding are chosen on held-out training
images, as fsnn-tune does: the fewest messages that lose at most --max-drop points there. A network that was trained for delta encoding has
its own dead band and steps. The test set is used only for the rows that are printed. Operations are those of the chip's own graph, in
which a static input costs nothing. A network of N layers takes T + N - 1 chip steps.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fsnn_lava as fl
from fsnn_lava.compiled.threads import set_thread_count
from fsnn_lava.data import Dataset, load
from fsnn_lava.placement.board import load_board
from fsnn_lava.tuning.bench import Bench
from fsnn_lava.tuning.candidate import Candidate, candidates
from fsnn_lava.tuning.held_out import CALIBRATION_SAMPLES, hold_out
from fsnn_lava.tuning.trial import Trial

MODELS = Path(__file__).resolve().parents[1] / "examples" / "models"
NETWORKS = {
    "mnist": ("mnist", "mnist-frugal", "mnist-delta"),
    "fashion-mnist": ("fashion-mnist-if", "fashion-mnist-frugal"),
    "digits": ("digits",),
}
SAMPLES = 5000  # held-out training images


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=tuple(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--samples", type=int, default=SAMPLES, help="how many held-out training images to use (default: %(default)s)")
    parser.add_argument("--limit", type=int, help="how many test images to use (default: all)")
    parser.add_argument("--max-drop", type=float, default=0.1, help="points that delta encoding may lose on them (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    set_thread_count(1)
    rows = [row for name in args.networks for row in measure(name, args)]
    print(json.dumps(rows, indent=1) if args.json else table(rows))
    return 0


def measure(data: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure both encodings of every network for a data set; the other rows are compared with the first."""
    rows: list[dict[str, Any]] = []
    dataset = load(data, args.data_dir)
    for name in NETWORKS[data]:
        path = MODELS / name / "model.pt"
        if not path.exists():
            print(f"note: {path} does not exist yet", file=sys.stderr)
            continue
        net = fl.FSNN.load(path)
        tuning = tuning_bench(net, dataset, args.samples)
        test = test_bench(tuning, dataset, args.limit)
        for candidate in exports(net, tuning, args.max_drop):
            rows.append(describe(name, test.try_out(candidate), len(net.architecture.layers), rows[0] if rows else None))
    return rows


def exports(net: fl.FSNN, tuning: Bench, max_drop: float) -> tuple[Candidate, ...]:
    """Return the exports of a network that are measured: with spikes and with delta encoding, or only as it was trained for the latter."""
    if isinstance(net.neuron, fl.SigmaDelta):
        return (Candidate(encoding="delta", bits=8, per_channel=False, steps=net.steps, dead_band=net.neuron.dead_band),)
    plain = Candidate(encoding="rate", bits=8, per_channel=False, steps=net.steps)
    return plain, fewest_messages(tuning, net, max_drop)


@torch.no_grad()
def tuning_bench(net: fl.FSNN, dataset: Dataset, samples: int) -> Bench:
    """Return held-out training images, and whether the float network classifies each correctly."""
    if net.metrics.get("validation", 0) < samples:  # too few to choose by: use images that it was trained on
        net.metrics.pop("validation", None)
    held = hold_out(dataset.train, net, samples=min(samples, len(dataset.train) - CALIBRATION_SAMPLES), seed=0)
    answers = [net(torch.from_numpy(held.values[s : s + 250])).argmax(1).numpy() for s in range(0, len(held.labels), 250)]
    return Bench(net, held.calibration, held.values, held.labels, np.concatenate(answers) == held.labels, load_board("oheo-gulch"))


def test_bench(tuning: Bench, dataset: Dataset, limit: int | None) -> Bench:
    """Return the same networks with test images."""
    number = min(limit or len(dataset.test), len(dataset.test))
    values, labels = dataset.test.batch(range(number)), np.asarray(dataset.test.labels)[:number]
    return replace(tuning, values=values, labels=labels, reference=np.ones(number, np.bool_))


def fewest_messages(bench: Bench, net: fl.FSNN, max_drop: float) -> Candidate:
    """Return the delta candidate with the fewest messages that keeps the float network's accuracy on held-out training images."""
    wanted = candidates(steps=net.steps, layers=len(net.architecture.layers), encodings=("delta",), bits=(8,))
    trials: list[Trial] = [bench.try_out(candidate) for candidate in wanted]
    able = [trial for trial in trials if not trial.failure and 100.0 * trial.drop <= max_drop]
    return min(able or trials, key=lambda trial: (trial.messages, trial.chip_steps)).candidate


def describe(name: str, trial: Trial, layers: int, base: dict[str, Any] | None) -> dict[str, Any]:
    steps = trial.candidate.steps + layers - 1
    row = {
        "network": name, "candidate": str(trial.candidate), "accuracy": trial.accuracy, "samples": trial.samples, "chip_steps": steps,
        "window": trial.chip_steps, "messages": trial.messages, "operations": trial.operations, "energy": trial.energy, "time": trial.time,
    }  # fmt: skip
    for what in ("chip_steps", "messages", "operations"):
        row[f"{what}_ratio"] = 1.0 if base is None else base[what] / row[what]
    row["points"] = 0.0 if base is None else 100.0 * (trial.accuracy - base["accuracy"])
    return row


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| network | export | accuracy | chip steps | messages | synaptic operations | energy, estimated |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        counts = [f"{row[what]:,.0f} ({row[f'{what}_ratio']:.1f}×)" for what in ("chip_steps", "messages", "operations")]
        energy = "unknown" if row["energy"] is None else f"{1e6 * row['energy'][0]:.3g} … {1e6 * row['energy'][1]:.3g} µJ"
        lines.append(
            f"| {row['network']} | {row['candidate']} | {row['accuracy']:.2%} ({row['points']:+.2f}) | {' | '.join(counts)} | {energy} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
