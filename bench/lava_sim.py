"""Compare the time per sample of our batched Lava processes with Lava's own, in one run, on the same network with the same spikes.

    python bench/lava_sim.py [--quick] [--json FILE]

Networks are untrained, with 8-bit weights and biases lowered until neurons fire as often as in a trained network (--rate). Times are
those of the steps alone. The time to build the processes is shown separately; stock processes are rebuilt for every sample, because their
state cannot be reset in bulk. Rounds are interleaved, and the median counts. The exit code is 1 if a spike differs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import fsnn_lava as fl
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.backends.lava.simulator import Simulator
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.stock_network import stock_equivalent

CASES = [("64C5s (F64C5)", 64, 100.0), ("400 (F400)", 256, 30.0)]  # architecture, batch size, required speed-up
SHAPE = (1, 28, 28)


def images(samples: int) -> np.ndarray:
    """Return images of strokes on a dark background, with about a fifth of the pixels lit, as in MNIST."""
    rng = np.random.default_rng(0)
    lit = np.zeros((samples, *SHAPE), dtype=bool)
    for sample in lit:
        y, x = rng.integers(6, 22, 2)
        for _ in range(60):
            y, x = np.clip(np.array([y, x]) + rng.integers(-2, 3, 2), 3, 24)
            sample[0, y - 1 : y + 2, x - 1 : x + 2] = True
    return (lit * rng.integers(120, 256, lit.shape)).astype(np.uint8)


def network(architecture: str, steps: int, rate: float, values: np.ndarray) -> ChipNetwork:
    """Return a quantised network with the bias of layer 1 lowered until its mean rate is `rate`."""
    torch.manual_seed(0)
    pixels = fl.Normalisation(divisor=255.0, mean=(0.13,), std=(0.31,))
    net = fl.FSNN(architecture, input_shape=SHAPE, classes=10, neuron=fl.IF(), vth=2.0, steps=steps, normalisation=pixels).eval()
    chip = fl.quantise(net, calibration=values)
    layer = chip.layers[0]
    low, high = 0.0, 8.0 * float(layer.threshold.max())
    for _ in range(12):
        middle = (low + high) / 2
        lowered = replace(chip, layers=(replace(layer, bias=layer.bias - np.int32(middle)), *chip.layers[1:]))
        low, high = (middle, high) if float(Emulator(lowered).run(values[:8]).rates[0].mean()) > rate else (low, middle)
    return lowered


def same(left: fl.Result, right: fl.Result) -> bool:
    """Compare every count and readout, and the potential of every neuron that was clipped in neither."""
    spikes = all(np.array_equal(a, b) for a, b in zip((*left.counts, left.readout), (*right.counts, right.readout), strict=True))
    whole = [(a == 0) & (b == 0) for a, b in zip(left.clipped, right.clipped, strict=True)]
    return spikes and all(np.array_equal(a[w], b[w]) for a, b, w in zip(left.potentials, right.potentials, whole, strict=True))


def measure(architecture: str, batch: int, *, steps: int, rate: float, rounds: int) -> dict[str, object]:
    values = images(batch)
    chip = network(architecture, steps, rate, values)
    equivalent, _ = stock_equivalent(chip)
    expected, expected_stock = Emulator(chip).run(values), Emulator(equivalent).run(values[:rounds])
    ours, stock, built, equal = [], [], [], True
    start = time.perf_counter()
    with Simulator(chip, batch=batch) as simulator:
        simulator.run(values)
        set_up = time.perf_counter() - start
        for number in range(rounds):
            result = simulator.run(values)
            ours.append(result.seconds / batch)
            equal = equal and same(result, expected)
            start = time.perf_counter()
            result = fl.run(chip, values[number : number + 1], backend="sim", graph="stock")
            built.append(time.perf_counter() - start - result.seconds)
            stock.append(result.seconds)
            equal = equal and same(result, expected_stock.part(slice(number, number + 1)))
    sim_seconds, stock_seconds = statistics.median(ours), statistics.median(stock)
    return {
        "architecture": architecture,
        "steps": steps,
        "batch": batch,
        "rate": float(expected.rates[0].mean()),
        "sim_ms_per_sample": 1e3 * sim_seconds,
        "stock_ms_per_sample": 1e3 * stock_seconds,
        "times_faster": stock_seconds / sim_seconds,
        "sim_set_up_and_first_batch_s": set_up,
        "stock_build_s_per_sample": statistics.median(built),
        "same_spikes": equal,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps and rounds, no limits on speed")
    parser.add_argument("--rate", type=float, default=0.1, help="mean firing rate, spikes per step")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    args = parser.parse_args()
    steps, rounds = (6, 1) if args.quick else (30, 3)
    rows = []
    for architecture, batch, wanted in CASES:
        row = measure(architecture, batch, steps=steps, rate=args.rate, rounds=rounds)
        row["wanted"] = wanted
        rows.append(row)
        print(
            f"{architecture:14} T={steps} rate {row['rate']:.2f}: sim {row['sim_ms_per_sample']:.2f} ms/sample (batch {batch}), "
            f"stock {row['stock_ms_per_sample']:.0f} ms/sample + {row['stock_build_s_per_sample']:.1f} s to build, "
            f"{row['times_faster']:.0f}x (must be at least {wanted:.0f}x), spikes {'equal' if row['same_spikes'] else 'DIFFER'}",
            flush=True,
        )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["same_spikes"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
