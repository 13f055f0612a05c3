"""What it costs to convert a network of ReLUs: train one on MNIST, import it, and run it in 8-bit integers with several numbers of steps.

    python bench/importing.py [--data-dir DIR] [--epochs N] [--limit N]

Prints the accuracy of the source and of the imported network on the same test samples: in float with exact rates, in float spikes, in
8-bit integers, and with delta encoding.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fsnn_lava as fl

STEPS = (8, 16, 32)
CALIBRATION_SAMPLES = 256
BATCH = 128


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=1000, help="how many test samples to use")
    args = parser.parse_args()
    torch.manual_seed(0)
    dataset = fl.load_data("mnist", args.data_dir)
    normalisation = fl.Normalisation(mean=(0.1307,), std=(0.3081,))
    ann = train(dataset, normalisation, args.epochs)
    pixels, labels = dataset.test.batch(range(args.limit)), np.asarray(dataset.test.labels)[: args.limit]
    calibration = dataset.train.batch(range(CALIBRATION_SAMPLES))
    source = ann(normalised(pixels, normalisation)).argmax(1).numpy()
    print(f"source, {args.limit} test samples: {np.mean(source == labels):.2%}")
    for steps in STEPS:
        net = imported(ann, calibration, normalisation, steps)
        images = torch.from_numpy(pixels)
        exact = net.readout(net.equilibrium(images).rates[-1].flatten(1)).argmax(1).numpy()
        spikes = net(images).argmax(1).numpy()
        integers = fl.run(fl.quantise(net, calibration=calibration), pixels).predictions
        answers = {"exact rates": exact, "float spikes": spikes, "8 bits": integers}
        print(f"T = {steps}: " + ", ".join(f"{name} {np.mean(found == labels):.2%}" for name, found in answers.items()))
    chip = fl.quantise(imported(ann, calibration, normalisation, STEPS[-1]), encoding="delta", calibration=calibration)
    print(f"delta encoding, 8 bits, T = {chip.steps}: {np.mean(fl.run(chip, pixels).predictions == labels):.2%}")
    return 0


def imported(ann: nn.Sequential, calibration: np.ndarray, normalisation: fl.Normalisation, steps: int) -> fl.FSNN:
    net = fl.from_torch(ann, input_shape=(1, 28, 28), calibration=torch.from_numpy(calibration), steps=steps, normalisation=normalisation)
    print(f"  {net.metrics['imported']}")
    return net


def normalised(pixels: np.ndarray, normalisation: fl.Normalisation) -> torch.Tensor:
    return normalisation.apply(torch.from_numpy(pixels).float(), channels_axis=-3)


def train(dataset: fl.Dataset, normalisation: fl.Normalisation, epochs: int) -> nn.Sequential:
    """Two convolutions with batch norm and average pooling, and a dense layer."""
    ann = nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2, padding=2, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.AvgPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 49, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    descent = torch.optim.Adam(ann.parameters(), lr=2e-3)
    labels = torch.as_tensor(np.asarray(dataset.train.labels))
    for _ in range(epochs):
        for chosen in torch.randperm(len(labels)).split(BATCH):
            outputs = ann(normalised(dataset.train.batch(chosen.numpy()), normalisation))
            loss = nn.functional.cross_entropy(outputs, labels[chosen])
            descent.zero_grad()
            loss.backward()
            descent.step()
    return ann.eval().requires_grad_(False)


if __name__ == "__main__":
    sys.exit(main())
