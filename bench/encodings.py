"""Compare both encodings on the shipped networks, in 8 bits and on full test sets: messages, steps, accuracy, distance to a*, time.

    python bench/encodings.py [--networks digits mnist ...] [--data-dir DIR] [--limit N] [--json]

Rate coding runs for the number of steps in its recipe. Delta encoding uses the dead bands and steps given in NETWORKS. A static input
counts once in both encodings. A network of N layers takes T + N - 1 chip steps. Times are medians of interleaved runs on one thread; only
their ratio is meaningful. `--curve` adds more dead bands, for the trade-off in docs/encodings.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fsnn_lava as fl
from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.compiled.threads import set_thread_count
from fsnn_lava.data import load
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.running.run import run_batches

MODELS = Path(__file__).resolve().parents[1] / "examples" / "models"
NETWORKS: dict[str, tuple[str, tuple[float, ...], int]] = {  # data set, dead bands, steps
    "digits": ("digits", (0.05,), 3),
    "mnist": ("mnist", (0.12,), 5),
    "fashion-mnist-if": ("fashion-mnist", (0.15,), 2),
    "fashion-mnist-lif": ("fashion-mnist", (0.25,), 2),
}
CURVE = (0.02, 0.05, 0.1, 0.15, 0.25)
CALIBRATION_SAMPLES = 128
EQUILIBRIUM_SAMPLES = 200
BATCH = 100
TIMED_SAMPLES = 256
ROUNDS = 7


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=tuple(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--limit", type=int, help="how many test samples to use (default: all)")
    parser.add_argument("--curve", action="store_true", help="also measure several given dead bands")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    set_thread_count(1)
    found = [row for name in args.networks for row in measure(name, args)]
    print(json.dumps(found, indent=1) if args.json else table(found))
    return 0


def measure(name: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    data, bands, steps = NETWORKS[name]
    net, dataset = fl.FSNN.load(MODELS / name / "model.pt"), load(data, args.data_dir)
    number = min(args.limit or len(dataset.test), len(dataset.test))
    values, labels = dataset.test.batch(range(number)), np.asarray(dataset.test.labels)[:number]
    calibration = dataset.train.batch(range(CALIBRATION_SAMPLES))
    rate = fl.quantise(net, calibration=calibration)
    chips = [fl.quantise(net, encoding="delta", dead_band=bands, steps=steps, calibration=calibration)]
    if args.curve:
        chips += [fl.quantise(net, encoding="delta", dead_band=band, calibration=calibration) for band in CURVE]
    rows = [describe(name, chip, values, labels) for chip in (rate, *chips)]
    for row, chip in zip(rows[1:], chips, strict=True):
        row["time_ratio"] = time_ratio(rate, chip, values[:TIMED_SAMPLES])
        row |= {f"{what}_ratio": rows[0][what] / row[what] for what in ("messages", "chip_steps", "operations")}
        row["points"] = 100 * (row["accuracy"] - rows[0]["accuracy"])
    return rows


def describe(name: str, chip: fl.ChipNetwork, values: NDArray[np.uint8], labels: NDArray[np.int64]) -> dict[str, Any]:
    batches = [slice(start, start + BATCH) for start in range(0, len(values), BATCH)]
    parts = [summary(chip, result) for result in run_batches(chip, (values[rows] for rows in batches), batch=BATCH)]
    totals = {what: sum(part[what] for part in parts) for what in ("messages", "operations", "clips", "seconds")}
    answers = np.concatenate([part["answers"] for part in parts])
    few = values[:EQUILIBRIUM_SAMPLES]
    star = RateMap(chip).solve(few, tol=1e-6)
    gaps = [np.abs(rate - exact) for rate, exact in zip(fl.run(chip, few).rates, star.rates, strict=True)]
    static = 0.0 if chip.delta is not None else (chip.steps - 1) * static_operations(chip, values)
    delta = chip.delta is not None
    return {
        "network": name,
        "encoding": chip.encoding,
        "dead_bands": None if chip.delta is None else chip.delta.shares(),
        "samples": len(values),
        "steps": chip.steps,
        "chip_steps": chip.steps + len(chip.layers) - 1,
        "messages": totals["messages"] / len(values),
        "operations": totals["operations"] / len(values) - static,
        "accuracy": float(np.mean(answers == labels)),
        "distance_max": float(max(gap.max() for gap in gaps)),
        "distance_rms": float(np.sqrt(sum(np.square(gap).sum() for gap in gaps) / sum(gap.size for gap in gaps))),
        "last_message": sum(part["last"] for part in parts) / len(values) if delta else None,
        "limit_cycles": sum(part["cycles"] for part in parts) if delta else None,
        "clips": totals["clips"],
        "milliseconds": 1000 * totals["seconds"] / len(values),
    }


def summary(chip: fl.ChipNetwork, result: fl.Result) -> dict[str, Any]:
    return {
        "messages": sum(int(counts.sum()) for counts in result.counts),
        "operations": int(result.operations.sum()),
        "clips": int(result.clip_count.sum()),
        "seconds": result.seconds,
        "answers": result.predictions,
        "last": 0 if result.last_message is None else int(result.last_message.sum()),
        "cycles": 0 if result.cycles is None else int(np.count_nonzero(result.cycles)),
    }


def static_operations(chip: fl.ChipNetwork, values: NDArray[np.uint8]) -> float:
    """Return the synaptic operations per sample for the static input, which rate coding's result counts in every step."""
    synapse = next(s for s in chip.synapses if s.source == "input")
    fan = compiled_synapse(synapse, chip.input.shape, chip.layer(synapse.target).shape).fan_out
    nonzero = (values != 0).sum(axis=0).astype(np.float64)
    return float((nonzero.sum(axis=0) * fan).sum() if fan.size > 1 else nonzero.sum() * fan.reshape(-1)[0]) / len(values)


def time_ratio(rate: fl.ChipNetwork, delta: fl.ChipNetwork, values: NDArray[np.uint8]) -> float:
    """Return the time of delta encoding divided by that of rate coding on the emulator, as the median over interleaved rounds."""
    one, other = Emulator(rate), DeltaEmulator(delta)
    ratios = []
    for _ in range(ROUNDS):
        base = one.run(values).seconds
        ratios.append(other.run(values).seconds / base)
    return float(np.median(ratios))


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f" ({ratio:.1f}×)"


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| network | encoding | dead band | chip steps | messages | synaptic operations | accuracy | max, rms distance to a* | time |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        band = "" if row["dead_bands"] is None else ", ".join(f"{band:.3g}" for band in row["dead_bands"])
        ratio = {
            what: f" ({row[f'{what}_ratio']:.1f}×)" if f"{what}_ratio" in row else "" for what in ("messages", "chip_steps", "operations")
        }
        lines.append(
            f"| {row['network']} | {row['encoding']} | {band} | {row['chip_steps']}{ratio['chip_steps']} "
            f"| {row['messages']:,.0f}{ratio['messages']} | {row['operations']:,.0f}{ratio['operations']} | {row['accuracy']:.2%} "
            f"| {row['distance_max']:.3f}, {row['distance_rms']:.4f} | {row.get('time_ratio', 1.0):.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
