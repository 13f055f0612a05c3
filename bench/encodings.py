"""Compare both encodings on the shipped networks, in 8 bits and on full test sets: messages, steps, accuracy, distance to a*, time.

    python bench/encodings.py [--networks digits ...] [--data-dir DIR] [--samples N] [--limit N] [--curve [--figure FILE]] [--stock]

Rate coding runs for the number of steps in its recipe. Dead band and steps for delta encoding are chosen on training images. Of those
that lose at most 0.1 points to rate coding on these images, without a clip, "fewest" sends the fewest messages, and "closest" the fewest
among those whose rates, in root mean square, are no further from a* than with rate coding. A network that was fine-tuned for delta
encoding ("delta, trained") has its own dead band and steps, and is compared with rate coding of the network that it was fine-tuned from.
Test images are used only for the rows that are printed. With event input, a run takes as many steps as there are frames. A static input
counts once in both encodings. A network of N layers takes T + N - 1 chip steps. Times are processor times of the emulator on one thread,
medians of interleaved runs. `--curve` adds rows for several dead bands and numbers of steps, which `--figure` draws (docs/encodings.md).
`--stock` instead prints what the "closest" network does with Lava's own sigma-delta neurons (--graph stock) on a few test samples, as
computed by the comparator's reference.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fsnn_lava as fl
from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.compiled.threads import set_thread_count
from fsnn_lava.data import Dataset, load
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.rate_map import RateMap, Rates
from fsnn_lava.running.evaluation import fit_evaluation_samples
from fsnn_lava.running.run import run_batches
from fsnn_lava.tuning.held_out import CALIBRATION_SAMPLES, HeldOut, hold_out
from fsnn_lava.verify.message_reference import MessageReference

MODELS = Path(__file__).resolve().parents[1] / "examples" / "models"
NETWORKS = {  # data set, training images to choose on, samples for which a* is solved
    "digits": ("digits", 1000, 200),
    "mnist": ("mnist", 10000, 100),
    "fashion-mnist-if": ("fashion-mnist", 5000, 200),
    "fashion-mnist-lif": ("fashion-mnist", 5000, 200),
    "mnist-frugal": ("mnist", 5000, 100),
    "fashion-mnist-frugal": ("fashion-mnist", 5000, 200),
    "fashion-mnist-recurrent": ("fashion-mnist", 1000, 100),
    "fashion-mnist-resnet": ("fashion-mnist", 1000, 50),
    "mnist-deep": ("mnist", 1000, 20),
    "nmnist-small": ("nmnist", 500, 20),
    "cifar10": ("cifar10", 500, 20),
}
BANDS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.12, 0.15, 0.2, 0.25)  # spikes per step, to choose from
FURTHER_STEPS = (0, 1, 2, 3, 5)  # beyond those after which every connection has been used
MAX_DROP = 0.001  # of the accuracy on training images, compared with rate coding
STEP_SHARES = (0.25, 0.5, 2.0, 4.0)  # of the recipe's steps, for the curve of rate coding
BATCH = 100
TIMED_SAMPLES = 256
ROUNDS = 7
LEAST_TIME = 0.1  # seconds of processor time per measurement
PANELS = tuple((over, what) for what in ("distance_rms", "accuracy") for over in ("messages", "chip_steps"))  # of the figure
LOWEST_DRAWN = 0.02  # accuracy below the best of the worse encoding; very short runs are worse by far
LABELS = {
    "messages": "messages per sample",
    "chip_steps": "chip steps",
    "distance_rms": "rms distance to a*",
    "accuracy": "accuracy",
}
TRAINED = {"mnist": "mnist-delta", "fashion-mnist-if": "fashion-mnist-delta"}  # for delta encoding, by the network they started from
Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=tuple(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--samples", type=int, help="how many training images to choose on (default: depends on the network)")
    parser.add_argument("--limit", type=int, help="how many test samples to use (default: all)")
    parser.add_argument("--curve", action="store_true", help="also measure several dead bands and numbers of steps on the test samples")
    parser.add_argument("--figure", type=Path, help="draw the rows of --curve")
    parser.add_argument("--stock", action="store_true", help="compare Lava's own neurons with E15 instead")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    set_thread_count(1)
    if args.stock:
        images = [name for name in args.networks if NETWORKS[name][0] != "nmnist"]  # the stock graph has no event input
        print(json.dumps([stock(name, args) for name in images], indent=1))
        return 0
    found = [row for name in args.networks for row in measure(name, args)]
    if args.figure is not None:
        draw(found, args.figure)
    print(json.dumps(found, indent=1) if args.json else table(found))
    return 0


def measure(name: str, args: argparse.Namespace) -> list[Row]:
    data, samples, solved = NETWORKS[name]
    net, dataset = fl.FSNN.load(MODELS / name / "model.pt"), load(data, args.data_dir)
    held = held_out_samples(dataset, net, args.samples or samples)
    number = min(args.limit or len(dataset.test), len(dataset.test))
    test = dataset.test.batch(range(number)), np.asarray(dataset.test.labels)[:number]
    rate = fl.quantise(net, calibration=held.calibration)
    test = fit_evaluation_samples(rate, test[0], steps=rate.steps), test[1]
    values = fit_evaluation_samples(rate, held.values, steps=rate.steps)
    fixed = rate.input.kind == "events"  # a run takes as many steps as there are frames
    delta = fl.quantise(net, encoding="delta", dead_band=1.0, steps=rate.steps if fixed else 1, calibration=held.calibration)
    chosen = choose(rate, delta, values, held.labels, solved)
    chips = {f"delta, {which}": with_band(delta, band, steps) for which, (band, steps) in chosen.items()}
    if args.curve:
        band, steps = chosen["closest"]
        chips |= {f"delta, {other:g}": with_band(delta, other, steps) for other in BANDS}
        lengths = range(0) if fixed else range(1, steps + FURTHER_STEPS[-1])
        chips |= {f"delta, T = {other}": with_band(delta, band, other) for other in lengths}
    exact = {"rate": equilibrium(rate, test[0][:solved]), "delta": equilibrium(delta, test[0][:solved])}
    base = {"network": name, "encoding": "rate", **describe(rate, *test, exact["rate"])}
    rows = [base]
    if args.curve:
        others = [] if fixed else [max(1, round(share * rate.steps)) for share in STEP_SHARES]
        rows += [{"network": name, "encoding": "rate", **describe(replace(rate, steps=t), *test, exact["rate"])} for t in others]
    trained = MODELS / TRAINED.get(name, name) / "model.pt"
    if name in TRAINED and not trained.exists():
        print(f"note: {trained} does not exist yet", file=sys.stderr)
    elif name in TRAINED:
        chips["delta, trained"] = fl.quantise(fl.FSNN.load(trained), calibration=held.calibration)
    for which, chip in chips.items():
        own = equilibrium(chip, test[0][:solved]) if which == "delta, trained" else exact["delta"]
        row = {"network": name, "encoding": which, **describe(chip, *test, own)}
        row |= {f"{what}_ratio": base[what] / row[what] for what in ("messages", "chip_steps", "operations")}
        row["points"] = 100 * (row["accuracy"] - base["accuracy"])
        timed = which.removeprefix("delta, ") in (*chosen, "trained")
        row["time_ratio"] = time_ratio(rate, chip, test[0][:TIMED_SAMPLES]) if timed else None
        rows.append(row)
    return rows


def stock(name: str, args: argparse.Namespace) -> Row:
    """Return how messages, rates and answers change with Lava's own neurons, on the samples whose a* is solved in `measure`."""
    data, samples, solved = NETWORKS[name]
    net, dataset = fl.FSNN.load(MODELS / name / "model.pt"), load(data, args.data_dir)
    held = held_out_samples(dataset, net, args.samples or samples)
    values, labels = dataset.test.batch(range(solved)), np.asarray(dataset.test.labels)[:solved]
    rate = fl.quantise(net, calibration=held.calibration)
    delta = fl.quantise(net, encoding="delta", dead_band=1.0, steps=1, calibration=held.calibration)
    chip = with_band(delta, *choose(rate, delta, held.values, held.labels, solved)["closest"])
    ours, theirs = fl.run(chip, values), MessageReference(chip, stock=True).run(values)
    exact = equilibrium(chip, values)
    found: Row = {"network": name, "samples": len(values), "dead_bands": chip.delta.shares() if chip.delta else None, "steps": chip.steps}
    for which, result in (("E15", ours), ("Lava", theirs)):
        gaps = [np.abs(a - b) for a, b in zip(result.rates, exact, strict=True)]
        found[which] = {
            "messages": sum(int(counts.sum()) for counts in result.counts) / len(values),
            "accuracy": float(np.mean(result.predictions == labels)),
            "distance_max": float(max(gap.max() for gap in gaps)),
        }
    found["rate_difference_max"] = float(max(np.abs(a - b).max() for a, b in zip(ours.rates, theirs.rates, strict=True)))
    found["same_answers"] = float(np.mean(ours.predictions == theirs.predictions))
    return found


def held_out_samples(dataset: Dataset, net: fl.FSNN, samples: int) -> HeldOut:
    """Return training samples that the recipe held out, or, if there are too few to choose by, samples that the network was trained on."""
    if net.metrics.get("validation", 0) < samples:
        net.metrics.pop("validation", None)
    return hold_out(dataset.train, net, samples=min(samples, len(dataset.train) - CALIBRATION_SAMPLES), seed=0)


def choose(
    rate: fl.ChipNetwork, delta: fl.ChipNetwork, values: NDArray[np.uint8], labels: NDArray[np.int64], solved: int
) -> dict[str, tuple[float, int]]:
    """Choose dead band and steps on training images: the fewest messages, and the fewest that come as close to a* as rate coding."""
    wanted = describe(rate, values, labels, equilibrium(rate, values[:solved]))
    exact = equilibrium(delta, values[:solved])
    least = 1 + max([delta.delay(synapse) for synapse in delta.feedback], default=0)
    trials = [trial for band in BANDS for trial in every_length(delta, band, least, values, labels, exact)]
    able = [trial for trial in trials if trial.accuracy >= wanted["accuracy"] - MAX_DROP - 1e-9 and not trial.clips] or trials
    close = [trial for trial in able if trial.distance_rms <= wanted["distance_rms"]] or able

    def price(trial: Trial) -> tuple[float, int]:
        return trial.messages, trial.steps

    fewest, closest = min(able, key=price), min(close, key=price)
    return {"fewest": (fewest.band, fewest.steps), "closest": (closest.band, closest.steps)}


class Trial(NamedTuple):
    """What a dead band and a number of steps gave on training images."""

    band: float
    steps: int
    messages: float
    accuracy: float
    distance_rms: float
    clips: int


def every_length(
    delta: fl.ChipNetwork, band: float, least: int, values: NDArray[np.uint8], labels: NDArray[np.int64], exact: Rates
) -> list[Trial]:
    """Try every number of steps with one dead band, in one run: a shorter run is the beginning of a longer one."""
    lengths = [delta.steps] if delta.input.kind == "events" else [least + more for more in FURTHER_STEPS]
    chip = with_band(delta, band, lengths[-1])
    messages, right, squares, clips = np.zeros(len(lengths)), np.zeros(len(lengths)), np.zeros(len(lengths)), 0
    for start in range(0, len(values), BATCH):
        result = fl.run(chip, values[start : start + BATCH], spikes=True)
        stars = [star[start : start + BATCH] for star in exact]
        clips += int(result.clip_count.sum())
        for at, steps in enumerate(lengths):
            rates = [rates_after(train, steps, chip) for train in trains_of(result)]
            messages[at] += 0 if result.messages is None else result.messages[:, :steps].sum()
            right[at] += np.count_nonzero(answers(chip, rates[-1]) == labels[start : start + BATCH])
            squares[at] += sum(np.square(rate[: len(star)] - star).sum() for rate, star in zip(rates, stars, strict=True))
    number = sum(star.size for star in exact)
    return [
        Trial(band, steps, float(sent) / len(values), float(correct) / len(values), float(np.sqrt(square / number)), clips)
        for steps, sent, correct, square in zip(lengths, messages, right, squares, strict=True)
    ]


def trains_of(result: fl.Result) -> tuple[NDArray[np.int16], ...]:
    """Every message of a run with spikes=True, [B, T, *shape] per layer."""
    if result.spikes is None:
        raise ValueError("the run must record its messages")
    return result.spikes


def rates_after(train: NDArray[np.int16], steps: int, chip: fl.ChipNetwork) -> NDArray[np.float64]:
    """Return the rates of a layer that its messages up to a step add up to."""
    one = chip.delta.one if chip.delta is not None else 1
    total: NDArray[np.float64] = train[:, :steps].sum(axis=1, dtype=np.float64) / one
    return total


def answers(chip: fl.ChipNetwork, rates: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the classes that the readout makes of the last layer's rates; all numbers are exact in float64."""
    readout = chip.readout
    logits = rates.reshape(len(rates), -1) @ (readout.weight.T.astype(np.float64) * 2.0**readout.exponent) + readout.bias
    return np.argmax(logits, axis=1)


def with_band(chip: fl.ChipNetwork, band: float, steps: int) -> fl.ChipNetwork:
    """Return a network with delta encoding with another dead band, spikes per step, and other steps."""
    if chip.delta is None:
        raise ValueError("the network must use delta encoding")
    bands = (max(1, round(band * chip.delta.one)),) * len(chip.layers)
    return replace(chip, steps=steps, delta=replace(chip.delta, dead_bands=bands))


def equilibrium(chip: fl.ChipNetwork, values: NDArray[np.uint8]) -> Rates:
    """Return a*, which depends on neither dead band nor steps."""
    return RateMap(chip).solve(values, tol=1e-5, max_steps=200).rates


def describe(chip: fl.ChipNetwork, values: NDArray[np.uint8], labels: NDArray[np.int64], exact: Rates) -> Row:
    batches = [slice(start, start + BATCH) for start in range(0, len(values), BATCH)]
    parts = [summary(result) for result in run_batches(chip, (values[rows] for rows in batches), batch=BATCH)]
    totals = {what: sum(part[what] for part in parts) for what in ("messages", "operations", "clips", "seconds", "last", "cycles")}
    answers = np.concatenate([part["answers"] for part in parts])
    rates = fl.run(chip, values[: len(exact[0])]).rates
    gaps = [np.abs(rate - star) for rate, star in zip(rates, exact, strict=True)]
    delta = chip.delta is not None
    static = 0.0 if delta or chip.input.kind == "events" else (chip.steps - 1) * static_operations(chip, values)
    return {
        "dead_bands": None if chip.delta is None else chip.delta.shares(),
        "samples": len(values),
        "steps": chip.steps,
        "chip_steps": chip.steps + len(chip.layers) - 1,
        "messages": totals["messages"] / len(values),
        "operations": totals["operations"] / len(values) - static,
        "accuracy": float(np.mean(answers == labels)),
        "distance_max": float(max(gap.max() for gap in gaps)),
        "distance_rms": float(np.sqrt(sum(np.square(gap).sum() for gap in gaps) / sum(gap.size for gap in gaps))),
        "last_message": totals["last"] / len(values) if delta else None,
        "limit_cycles": totals["cycles"] if delta else None,
        "clips": totals["clips"],
        "milliseconds": 1000 * totals["seconds"] / len(values),
    }


def summary(result: fl.Result) -> Row:
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
    nonzero, total = (values != 0).sum(axis=0).astype(np.float64), 0.0
    for synapse in (one for one in chip.synapses if one.source == "input"):
        fan = compiled_synapse(synapse, chip.input.shape, chip.layer(synapse.target).shape).fan_out
        total += (nonzero.sum(axis=0) * fan).sum() if fan.size > 1 else nonzero.sum() * fan.reshape(-1)[0]
    return total / len(values)


def time_ratio(rate: fl.ChipNetwork, delta: fl.ChipNetwork, values: NDArray[np.uint8]) -> float:
    """Return the processor time of delta encoding divided by that of rate coding, as the median over interleaved rounds."""
    one, other = Emulator(rate), DeltaEmulator(delta)
    again = int(np.ceil(LEAST_TIME / processor_time(one, values, 1)))
    ratios = [processor_time(other, values, again) / processor_time(one, values, again) for _ in range(ROUNDS)]
    return float(np.median(ratios))


def processor_time(emulator: Emulator | DeltaEmulator, values: NDArray[np.uint8], again: int) -> float:
    """Return the seconds of processor time that it takes to run `values` so many times."""
    began = time.process_time()
    for _ in range(again):
        emulator.run(values)
    return time.process_time() - began


def draw(rows: list[Row], path: Path) -> None:
    """Draw the distance to a* and the accuracy over messages and over chip steps, one row of axes per network."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    networks = list(dict.fromkeys(row["network"] for row in rows))
    figure, axes = plt.subplots(len(networks), 4, figsize=(13, 2.3 * len(networks)), squeeze=False, layout="constrained")
    for name, panels in zip(networks, axes, strict=True):
        for encoding, mark in (("rate", "o"), ("delta", "s")):
            of_it = [row for row in rows if row["network"] == name and row["encoding"].startswith(encoding)]
            for panel, (over, what) in zip(panels, PANELS, strict=True):
                panel.plot([row[over] for row in of_it], [row[what] for row in of_it], mark, markersize=4, label=encoding)
        for panel, (over, what) in zip(panels, PANELS, strict=True):
            panel.set(xscale="log", yscale="log" if what == "distance_rms" else "linear", xlabel=LABELS[over], ylabel=LABELS[what])
            for axis in (panel.xaxis, *([panel.yaxis] if what == "distance_rms" else [])):
                axis.set_major_locator(LogLocator(subs=(1, 3) if over == "messages" else (1, 2, 5)))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"))
                axis.set_minor_formatter(NullFormatter())
            if what == "accuracy":
                best = [max(row["accuracy"] for row in rows if row["network"] == name and row["encoding"][0] == kind) for kind in "rd"]
                panel.set_ylim(min(best) - LOWEST_DRAWN, max(best) + LOWEST_DRAWN / 4)
        panels[0].set_title(name)
        panels[0].legend()
    figure.savefig(path, dpi=100)


def time_text(row: Row) -> str:
    ratio = row.get("time_ratio", 1.0)
    return "" if ratio is None else f"{ratio:.2f}"


def table(rows: list[Row]) -> str:
    lines = [
        "| network | encoding | dead band | chip steps | messages | synaptic operations | accuracy | max, rms distance to a* | time |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        band = "" if row["dead_bands"] is None else f"{row['dead_bands'][0]:.3g}"
        ratio = {
            what: f" ({row[f'{what}_ratio']:.1f}×)" if f"{what}_ratio" in row else "" for what in ("messages", "chip_steps", "operations")
        }
        lines.append(
            f"| {row['network']} | {row['encoding']} | {band} | {row['chip_steps']}{ratio['chip_steps']} "
            f"| {row['messages']:,.0f}{ratio['messages']} | {row['operations']:,.0f}{ratio['operations']} | {row['accuracy']:.2%} "
            f"| {row['distance_max']:.3f}, {row['distance_rms']:.4f} | {time_text(row)} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
