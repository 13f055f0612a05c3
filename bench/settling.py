"""Repeat event recordings end to end: is the run faithful, has it settled, and does the residual fall as E11 predicts?

    fsnn-train train/nmnist-if.toml --set epochs=1 --out runs/nmnist
    python bench/settling.py runs/nmnist/best.pt [--data nmnist] [--repeat 1 4 16] [--samples 9]

A single recording is too short for the rates to settle. If it is repeated k times, its average stays the same, and by E11 the largest
residual falls as 1/A, which is 1/k without a leak. The script prints one row per k, and the first line of each verdict.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fsnn_lava as fl
from fsnn_lava.data import load
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.verdict import Verdict

CALIBRATION = 16  # recordings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="model.pt of a network with event input")
    parser.add_argument("--data", default="nmnist")
    parser.add_argument("--repeat", type=int, nargs="+", default=[1, 4, 16], metavar="K")
    parser.add_argument("--samples", type=int, default=9)
    args = parser.parse_args()
    data, net = load(args.data), fl.FSNN.load(args.model)
    most = max(args.repeat)
    calibration = repeated(data.train.batch(spread(len(data.train), CALIBRATION)), most)
    chip = fl.quantise(net, calibration=calibration, steps=calibration.shape[1])  # large enough for the longest run
    chosen = spread(len(data.test), args.samples)
    values, labels = data.test.batch(chosen), data.test.labels[chosen]
    verdicts = {k: judge(chip, repeated(values, k), labels) for k in args.repeat}
    print(table(chip, verdicts, values.shape[1]))
    for k, verdict in verdicts.items():
        print(f"\n{k} x {verdict.word}  {verdict.answers()}\n    {verdict.settled}")
    return int(not all(verdict.faithful for verdict in verdicts.values()))


def spread(total: int, number: int) -> list[int]:
    """Choose `number` of `total` samples at even intervals, because the recordings are sorted by class."""
    return [int(i) for i in np.linspace(0, total - 1, number)]


def repeated(values: np.ndarray, times: int) -> np.ndarray:
    """Repeat recordings [B, T, …] end to end."""
    return np.tile(values, (1, times, *[1] * (values.ndim - 2)))


def judge(chip: fl.ChipNetwork, values: np.ndarray, labels: np.ndarray) -> Verdict:
    comparator = Comparator(chip, equilibrium_samples=4)
    comparator.add(fl.run(chip, values, steps=values.shape[1]), values, labels)
    return comparator.verdict()


def table(chip: fl.ChipNetwork, verdicts: dict[int, Verdict], frames: int) -> str:
    """Return a table of measured and predicted residuals; the prediction scales that of the first row as 1/A (E11)."""
    lines = [
        "| repetitions | steps | faithful | settled | largest residual | predicted from the first row | steps needed to settle |",
        "|---" * 7 + "|",
    ]
    first = next(iter(verdicts))
    start = verdicts[first].settled
    for k, verdict in verdicts.items():
        settled = verdict.settled
        assert start is not None and settled is not None
        predicted = start.residual * chip.weight_sum(first * frames) / chip.weight_sum(k * frames)
        cells = (
            k,
            k * frames,
            "yes" if verdict.faithful else "no",
            settled.answer,
            f"{settled.residual:.4f}",
            f"{predicted:.4f}",
            settled.steps,
        )
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
