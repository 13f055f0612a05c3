"""Make examples/models/NAME from a training run: model.pt, net.h5, and a card with figures measured on the whole test set.

    python examples/models/make.py NAME RUN [--recipe train/NAME.toml] [--also 8 12 16] [--steps T] [--schedule pipelined]
                                    [--dead-band ETA] [--bits N] [--note "…"] [--data DIR]

RUN is a single model.pt, or the folder of a training run: then best.pt is used, and log.jsonl is copied to train/logs/NAME.jsonl. At the
end, the catalogue of shipped networks is updated (make_catalogue.py). --schedule pipelined ships a network that was trained with the
sequential schedule with that of the chip, so that float and integers differ only by rounding; the card gives the accuracy with both. For
a trial, --out writes to another folder, without log and catalogue, and --samples uses only the first test samples.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import runpy
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fsnn_lava as fl
from fsnn_lava.data import Dataset, load
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.placement.cost_count import count_cost_of_messages
from fsnn_lava.quantisation.quantise import Quantised, quantise_in_full
from fsnn_lava.training import run_folder
from fsnn_lava.verify.bounds.local_certificate import LocalCertifier
from fsnn_lava.verify.equilibrium import solve_equilibria
from fsnn_lava.verify.wilson_interval import wilson_interval

HERE = Path(__file__).parent
LOGS = HERE.parents[1] / "train" / "logs"
BATCH = 250
CALIBRATION_SAMPLES = 128
CERTIFIED_SAMPLES = 8  # whose equilibria are certified one by one, where the network as a whole is not
CARD = """# {name}

`{architecture}`, {neuron}, {steps} steps{schedule}, trained on {data} ({recipe}{note}). Run it with `fsnn-run {name} --backend emu`.

| | |
|---|---|
| accuracy, float | {float:.2%} ({samples} test samples; 95 % interval {low:.2%} – {high:.2%}) |
{as_trained}| accuracy, {bits}-bit integers | {integer:.2%} |
| same answer in float and integers | {alike:.2%} |
| synaptic operations | {operations:.0f} per sample on the emulator, {chip_operations:.0f} on the chip, which gets a static input once |
| messages | {messages:.0f} per sample |
| certificate (E6) | gain {before:.3f} in float, {after:.3f} in integers: {certified} |
| certificate, sample by sample (E18) | {local} |
| clips | {clips} |
| on {board} | {answer} |
| network digest | `{digest}` |
| SHA-256 of model.pt | `{model_hash}` |

| layer | neurons | {sent} per step and neuron | synaptic operations per sample that reach it on the chip |
|---|---|---|---|
{layers}
{steps_table}
This card was written by `python examples/models/make.py {name} …`, which measures all figures.
"""


def main() -> None:
    args = arguments()
    folder: Path = args.out or HERE / args.name
    folder.mkdir(parents=True, exist_ok=True)
    source = args.run / run_folder.BEST if args.run.is_dir() else args.run
    net = fl.FSNN.load(source)
    trained = net.schedule
    if args.steps or args.schedule or args.dead_band:
        net.steps, net.schedule = args.steps or net.steps, args.schedule or net.schedule
        net.neuron = replace(net.neuron, dead_band=args.dead_band) if args.dead_band else net.neuron
        net.save(folder / "model.pt")
    elif source.resolve() != (folder / "model.pt").resolve():
        shutil.copyfile(source, folder / "model.pt")
    data = load(net.metrics["data"], args.data)
    values = data.train.batch(range(min(CALIBRATION_SAMPLES, len(data.train))))
    made = quantise_in_full(net, bits=args.bits, calibration=values)
    made.chip.notes.update({"data": data.name, "model": args.name})
    made.chip.save(folder / "net.h5")
    local = local_certificates(made, data)
    figures = {**measure(net, made.chip, data, samples=args.samples), "local": local}
    figures["by steps"] = [accuracy_at(net, made.chip, data, steps, samples=args.samples) for steps in args.also]
    figures["trained"] = None
    if net.schedule != trained:
        kept, net.schedule = net.schedule, trained
        figures["trained"] = (trained, float_accuracy(net, data, samples=args.samples))
        net.schedule = kept
    digest = hashlib.sha256((folder / "model.pt").read_bytes()).hexdigest()
    (folder / "card.md").write_text(card(args, net, made, figures, data.name, digest))
    if args.out is None:
        if args.run.is_dir():
            shutil.copyfile(args.run / run_folder.LOG, LOGS / f"{args.name}.jsonl")
        runpy.run_path(str(HERE / "make_catalogue.py"), run_name="__main__")
    print(json.dumps(figures, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("run", type=Path, help="the folder of a training, or a model.pt")
    parser.add_argument("--recipe", help="what the card names (default: train/NAME.toml)")
    parser.add_argument("--also", type=int, nargs="+", default=[], metavar="T", help="measure the accuracy with these steps too")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--schedule", choices=("sequential", "pipelined"), help="if not that of the training")
    parser.add_argument("--dead-band", type=float, metavar="ETA", help="of a network with delta encoding, if not that of the training")
    parser.add_argument("--bits", type=int, default=8)
    parser.add_argument("--note", default="")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the data sets (default: $FSNN_DATA)")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--samples", type=int, help="test samples to use (default: all)")
    args = parser.parse_args()
    args.recipe = args.recipe or f"train/{args.name}.toml"
    return args


def measure(net: fl.FSNN, chip: ChipNetwork, data: Dataset, *, samples: int | None = None) -> dict[str, Any]:
    """Accuracy in float and in integers, and what the spikes of every layer cost."""
    right = integer = alike = clips = operations = 0
    counts = [np.zeros(layer.shape) for layer in chip.layers]
    events = np.zeros(chip.input.shape)
    number = min(samples or len(data.test), len(data.test))
    for values, labels in batches(data, number):
        given = frames(values, chip.steps, chip)
        floats = answers(net, values, net.steps)
        result = fl.run(chip, given, backend="emu")
        right += int((floats == labels).sum())
        integer += int((result.predictions == labels).sum())
        alike += int((floats == result.predictions).sum())
        clips += int(result.clip_count.sum())
        operations += int(result.operations.sum())
        for total, count in zip(counts, result.counts, strict=True):
            total += count.sum(axis=0)
        if chip.input.kind == "events":
            events += np.count_nonzero(given, axis=(0, 1))
    messages = [count / number for count in counts]
    sent = events / number if chip.input.kind == "events" else None
    cost = count_cost_of_messages(chip, messages, fl.place(chip), steps=chip.steps, events=sent)
    low, high = wilson_interval(right, number)
    return {
        "float": right / number,
        "integer": integer / number,
        "alike": alike / number,
        "samples": number,
        "low": low,
        "high": high,
        "rates": [float(count.mean()) / chip.steps for count in messages],
        "operations": operations / number,
        "chip_operations": cost.operations,
        "layer operations": [layer.operations for layer in cost.layers],
        "messages": cost.messages,
        "clips": clips,
    }


def batches(data: Dataset, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The first test samples with their labels, some at a time."""
    for start in range(0, number, BATCH):
        chosen = range(start, min(start + BATCH, number))
        yield data.test.batch(chosen), data.test.labels[chosen.start : chosen.stop]


@torch.no_grad()
def answers(net: fl.FSNN, values: np.ndarray, steps: int) -> np.ndarray:
    """Those of the float network."""
    found: np.ndarray = net(torch.from_numpy(values), steps).argmax(1).numpy()
    return found


def frames(values: np.ndarray, steps: int, chip: ChipNetwork) -> np.ndarray:
    """A run takes as many frames of a recording as it has steps."""
    return values[:, :steps] if chip.input.kind == "events" else values


def float_accuracy(net: fl.FSNN, data: Dataset, *, samples: int | None = None) -> float:
    number = min(samples or len(data.test), len(data.test))
    return sum(int((answers(net, values, net.steps) == labels).sum()) for values, labels in batches(data, number)) / number


def accuracy_at(net: fl.FSNN, chip: ChipNetwork, data: Dataset, steps: int, *, samples: int | None = None) -> dict[str, float]:
    """Accuracy with another number of steps, in float and in integers."""
    number = min(samples or len(data.test), len(data.test))
    right = integer = 0
    for values, labels in batches(data, number):
        right += int((answers(net, values, steps) == labels).sum())
        integer += int((fl.run(chip, frames(values, steps, chip), steps=steps, backend="emu").predictions == labels).sum())
    return {"steps": steps, "float": right / number, "integer": integer / number}


def local_certificates(made: Quantised, data: Dataset) -> str:
    """How many of the first test samples have a certified equilibrium near the one that was solved for (E18)."""
    if made.gain_after < 1.0:
        return "not needed: all are certified by the gain"
    if not made.chip.feedback:
        return "not needed: there is no loop"
    values = frames(data.test.batch(range(min(CERTIFIED_SAMPLES, len(data.test)))), made.chip.steps, made.chip)
    rates, rate_map = fl.run(made.chip, values, backend="emu").rates, RateMap(made.chip)
    drive = rate_map.drive(values)
    solved = solve_equilibria(rate_map, drive, rates)
    found = LocalCertifier(rate_map).certify(solved.rates, rates, drive, samples=np.arange(len(values)))
    return f"{int(found.certified.sum())} of {len(values)}; ‖J‖ at the equilibrium at most {float(found.norm.max()):.3g}"


def card(args: argparse.Namespace, net: fl.FSNN, made: Quantised, figures: dict[str, Any], data: str, digest: str) -> str:
    placement = fl.place(made.chip)
    rows = zip(made.chip.layers, figures["rates"], figures["layer operations"], strict=False)  # the readout may be one layer more
    trained = figures["trained"]
    layers = "\n".join(f"| {layer.name} | {layer.size} | {rate:.4f} | {caused:.0f} |" for layer, rate, caused in rows)
    return CARD.format(
        name=args.name, bits=args.bits, board=placement.board.name, answer=placement.verdict, architecture=net.architecture,
        steps=net.steps, data=data, recipe=args.recipe, note=f"; {args.note}" if args.note else "",
        neuron=neuron_text(net.neuron), before=made.gain_before, after=made.gain_after,
        schedule=f" in the {net.schedule} schedule" if trained else "",
        as_trained=f"| accuracy, float, in the {trained[0]} schedule it was trained with | {trained[1]:.2%} |\n" if trained else "",
        certified="certified" if made.gain_after < 1 else "not certified", digest=made.chip.digest(), model_hash=digest,
        layers=layers, sent="messages" if made.chip.delta else "firing rate, spikes",
        steps_table=steps_table(figures["by steps"]), **figures,
    )  # fmt: skip


def neuron_text(neuron: fl.LIF) -> str:
    """Name the kind of neuron with its parameters."""
    if isinstance(neuron, fl.SigmaDelta):
        return f"sigma-delta neurons with a dead band of {neuron.dead_band:g}"
    return "IF" if neuron.leak == 1 else f"LIF {neuron.leak}"


def steps_table(rows: Sequence[dict[str, float]]) -> str:
    """Accuracy against steps in Markdown; empty if nothing was asked for."""
    if not rows:
        return ""
    lines = ["", "| steps | accuracy, float | accuracy, integers |", "|---|---|---|"]
    lines += [f"| {row['steps']} | {row['float']:.2%} | {row['integer']:.2%} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
