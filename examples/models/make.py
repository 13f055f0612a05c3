"""Make examples/models/NAME from a trained model: net.h5, and a card with figures measured on the whole test set.

python examples/models/make.py NAME model.pt --recipe train/NAME.toml [--steps T] [--bits N] [--note "…"]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import torch

import fsnn_lava as fl
from fsnn_lava.data import load
from fsnn_lava.placement.work import cost_of_messages
from fsnn_lava.quantisation.quantise import quantise_in_full

HERE = Path(__file__).parent
CARD = """# {name}

`{architecture}`, {neuron}, {steps} steps, trained on {data} ({recipe}{note}). Run it with `fsnn-run {name} --backend emu`.

| | |
|---|---|
| accuracy, float | {float:.2%} ({samples} test images) |
| accuracy, {bits}-bit integers | {integer:.2%} |
| same answer in float and integers | {alike:.2%} |
| firing rate | {rates} spikes per step and neuron |
| synaptic operations | {operations:.0f} per image on the emulator, {chip_operations:.0f} on the chip, which gets a static input only once |
| messages | {messages:.0f} per image |
| certificate (E6) | gain {before:.3f} in float, {after:.3f} in integers: {certified} |
| clips | {clips} |
| on {board} | {answer} |
| network digest | `{digest}` |
| SHA-256 of model.pt | `{model_hash}` |

This card was written by `python examples/models/make.py {name} …`, which measures all figures.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("model", type=Path)
    parser.add_argument("--recipe", required=True)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--bits", type=int, default=8)
    parser.add_argument("--note", default="")
    args = parser.parse_args()
    folder = HERE / args.name
    folder.mkdir(exist_ok=True)
    net = fl.FSNN.load(args.model)
    if args.steps:
        net.steps = args.steps
        net.save(folder / "model.pt")
    elif args.model.resolve() != (folder / "model.pt").resolve():
        shutil.copyfile(args.model, folder / "model.pt")
    data = load(net.metrics["data"])
    made = quantise_in_full(net, bits=args.bits, calibration=data.train.batch(range(128)))
    made.chip.notes.update({"data": data.name, "model": args.name})
    made.chip.save(folder / "net.h5")
    placement = fl.place(made.chip)
    figures = measure(net, made.chip, data, placement)
    card = CARD.format(
        name=args.name, bits=args.bits, board=placement.board.name, answer=placement.verdict,
        architecture=net.architecture, steps=net.steps, data=data.name, recipe=args.recipe,
        note=f"; {args.note}" if args.note else "", neuron="IF" if net.neuron.leak == 1 else f"LIF {net.neuron.leak}",
        before=made.gain_before, after=made.gain_after, certified="certified" if made.gain_after < 1 else "not certified",
        digest=made.chip.digest(), model_hash=hashlib.sha256((folder / "model.pt").read_bytes()).hexdigest(), **figures,
    )  # fmt: skip
    (folder / "card.md").write_text(card)
    print(json.dumps(figures, indent=1))


def measure(net: fl.FSNN, chip: fl.ChipNetwork, data, placement: fl.Placement) -> dict:  # type: ignore[no-untyped-def, type-arg]
    right = integer = alike = clips = 0
    spikes = [np.zeros(layer.shape) for layer in chip.layers]
    operations = 0
    count = len(data.test)
    for start in range(0, count, 500):
        chosen = range(start, min(start + 500, count))
        pixels, labels = data.test.batch(chosen), data.test.labels[chosen.start : chosen.stop]
        with torch.no_grad():
            floats = net(torch.from_numpy(pixels)).argmax(1).numpy()
        result = fl.run(chip, pixels, backend="emu")
        right += int((floats == labels).sum())
        integer += int((result.predictions == labels).sum())
        alike += int((floats == result.predictions).sum())
        clips += int(result.clip_count.sum())
        operations += int(result.operations.sum())
        for total, counts in zip(spikes, result.counts, strict=True):
            total += counts.sum(axis=0)
    rates = ", ".join(f"{total.mean() / count / chip.steps:.4f}" for total in spikes)
    cost = cost_of_messages(chip, [total / count for total in spikes], placement, steps=chip.steps)
    return {"float": right / count, "integer": integer / count, "alike": alike / count, "samples": count, "rates": rates,
            "operations": operations / count, "chip_operations": cost.operations, "messages": cost.messages, "clips": clips}  # fmt: skip


if __name__ == "__main__":
    main()
