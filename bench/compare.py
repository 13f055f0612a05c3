"""Measure what comparing costs relative to the run itself: seconds of the comparator per second of the emulator, in batches of `fsnn-run`.

    python bench/compare.py [--quick] [--data-dir DIR] [--json FILE] [--case NAME]

mnist      the trained network in examples/models on the 10,000 test images of MNIST; needs the data set
dense      400 (F400), untrained, 10,000 images of strokes
alexnet-f  the paper's AlexNet-F, untrained, 64 images of strokes in the shape of CIFAR-10

Compilation is not counted: both first run once on a few samples. Every batch is run and then compared, so that other programs slow
both down alike. Both wall-clock seconds and processor seconds are given. --quick takes an eighth of the samples; its ratios are worse
than those of a full run, because the work that the comparator does on the first samples does not grow with the run. The exit code is 1
if a ratio misses its limit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from emulator import SHAPE, images, network

import fsnn_lava as fl
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.running.options import default_batch_option
from fsnn_lava.verify.comparator import Comparator

DENSE, ALEXNET_F = "400 (F400)", "96C3s-256C3-384C3s-384C3-256C3 (F96C3u)"
MODELS = Path(__file__).resolve().parents[1] / "examples" / "models"
BATCH_NORM_PASSES = 20


@dataclass(frozen=True)
class Case:
    """A network, the samples to run it on, and the largest acceptable ratio."""

    name: str
    chip: ChipNetwork
    values: np.ndarray
    labels: np.ndarray | None
    bar: float


def mnist(samples: int, folder: Path | None) -> Case:
    from fsnn_lava.data import load

    test = load("mnist", folder).test
    chip = ChipNetwork.load(MODELS / "mnist" / "net.h5")
    number = min(samples, len(test))
    return Case("mnist", chip, test.batch(slice(0, number)), test.labels[:number], bar=1.0)


def dense(samples: int) -> Case:
    values = np.resize(images(min(samples, 512)), (samples, *SHAPE))  # repeat the same strokes
    return Case("dense", network(DENSE, 30, 0.1, values[:64]), values, None, bar=2.0)


def alexnet_f(samples: int) -> Case:
    values = images(samples, (3, 32, 32))
    torch.manual_seed(0)
    net = fl.FSNN(ALEXNET_F, input_shape=(3, 32, 32), classes=10, neuron=fl.IF(), vth=2.0, steps=30)
    for _ in range(BATCH_NORM_PASSES):  # adapts the batch-norm statistics to the images; otherwise the deep layers would be silent
        net(torch.from_numpy(values[:8])).sum().backward()
    return Case("alexnet-f", fl.quantise(net.eval(), calibration=values[:8]), values, None, bar=2.0)


def clocks() -> np.ndarray:
    """Seconds of the clock, and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def measure(case: Case) -> dict[str, Any]:
    """Return the seconds spent on running and on comparing, alternating between the two batch by batch."""
    emulator, comparator = Emulator(case.chip), Comparator(case.chip)
    warm = case.values[: min(4, len(case.values))]
    first = Comparator(case.chip, equilibrium_samples=1)
    first.add(emulator.run(warm, steps=case.chip.steps), warm)
    run, compare = np.zeros(2), np.zeros(2)
    batch = default_batch_option(case.chip, len(case.values), backend="emu")
    for start in range(0, len(case.values), batch):
        rows = slice(start, start + batch)
        began = clocks()
        result = emulator.run(case.values[rows], steps=case.chip.steps)
        ran = clocks()
        comparator.add(result, case.values[rows], None if case.labels is None else case.labels[rows])
        run, compare = run + ran - began, compare + clocks() - ran
    began = clocks()
    verdict = comparator.verdict()
    compare += clocks() - began
    return {
        "name": case.name,
        "samples": len(case.values),
        "rate": [float(layer.mean()) for layer in result.rates],
        "batch": batch,
        "run_seconds": float(run[0]),
        "compare_seconds": float(compare[0]),
        "ratio": float(compare[0] / run[0]),
        "processor_ratio": float(compare[1] / run[1]),
        "bar": case.bar,
        "passed": verdict.passed,
        "verdict": verdict.to_text(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="use an eighth of the samples")
    parser.add_argument("--data-dir", type=Path, help="folder that contains MNIST (default: $FSNN_DATA)")
    parser.add_argument("--case", choices=("mnist", "dense", "alexnet-f"), action="append", help="run only this case; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    share = 8 if args.quick else 1
    makers = {
        "mnist": lambda: mnist(10_000 // share, args.data_dir),
        "dense": lambda: dense(10_000 // share),
        "alexnet-f": lambda: alexnet_f(64 // share),
    }
    rows = []
    for name in args.case or makers:
        row = measure(makers[name]())
        rows.append(row)
        print(
            f"{name:10} {row['samples']:6} samples: run {row['run_seconds']:.2f} s, compare {row['compare_seconds']:.2f} s, "
            f"ratio {row['ratio']:.2f} (at most {row['bar']:g}), of the processor {row['processor_ratio']:.2f}"
            f"{'' if row['passed'] else ', and the run does not pass'}",
            flush=True,
        )
        if not row["passed"]:
            print(row["verdict"])
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=2))
    return int(any(row["ratio"] > row["bar"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
