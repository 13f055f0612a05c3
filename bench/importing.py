"""Measure what it costs to convert a network of ReLUs: train one on MNIST, import it, and run it in 8-bit integers with various steps.

    python bench/importing.py [--data-dir DIR] [--epochs N] [--limit N]

Prints the accuracy of the source and of the imported network on the same test samples: in float with exact rates, in float spikes, in
8-bit integers, and with delta encoding.

    python bench/importing.py --reference DIR [--checkpoint FILE] [--data-dir DIR]

instead compares an imported checkpoint of 400 (F400) with the authors' code (github.com/pkuxmq/IDE-FSNN) in your checkout DIR, which needs
scipy and termcolor: their network is trained on Fashion-MNIST for some iterations with their code and saved as their script does, unless
--checkpoint names a file that the script wrote. Then both run 100 test images in float64, and the largest difference between the rates
is printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fsnn_lava as fl

STEPS = (8, 16, 32)
CALIBRATION_SAMPLES = 256
BATCH = 128
REFERENCE_IMAGES, REFERENCE_ITERATIONS = 100, 40
REFERENCE_STEPS, REFERENCE_LEAK, REFERENCE_VTH = 5, 0.95, 2.0  # the defaults of their script for 400 (F400)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=1000, help="how many test samples to use")
    parser.add_argument("--reference", type=Path, metavar="DIR", help="checkout of the authors' code to compare with")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="with --reference: a checkpoint of 400 (F400) that it wrote")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.reference is not None:
        return compare_with_reference(args)
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


def compare_with_reference(args: argparse.Namespace) -> int:
    """The largest difference between the rates of an imported checkpoint and those of the authors' code."""
    theirs = reference_network(args.reference)
    dataset = fl.load_data("fashion-mnist", args.data_dir)
    normalisation = fl.Normalisation(mean=(0.1307,), std=(0.3081,))
    with tempfile.TemporaryDirectory() as folder:
        path = args.checkpoint
        if path is None:
            path = Path(folder) / "model_best.pth.tar"
            train_reference(theirs, dataset, normalisation)
            parallel = {f"module.{name}": value for name, value in theirs.state_dict().items()}  # as DataParallel names them
            torch.save({"epoch": 1, "state_dict": parallel, "acc": 0.0, "best_acc": 0.0}, path)
        else:
            kept = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
            theirs.load_state_dict({name.removeprefix("module."): value for name, value in kept.items()})
        options = {"leak": REFERENCE_LEAK, "vth": REFERENCE_VTH, "steps": REFERENCE_STEPS, "normalisation": normalisation}
        ours = fl.from_ide_fsnn(path, input_shape=(1, 28, 28), dtype=torch.float64, **options)
    images = normalised(dataset.test.batch(range(REFERENCE_IMAGES)), normalisation).double()
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign] # their spikes are always float32, which double weights refuse
    wanted = theirs.double().eval()._forward(images.flatten(1))
    rates = ours.simulate(images).rates[-1]
    off = float((rates - wanted).abs().max())
    print(f"{ours.metrics['imported']}")
    print(f"{rates.numel()} rates of {len(images)} images, mean {float(rates.mean()):.4f}: the largest difference is {off:.3g}")
    return 0 if off <= 1e-6 else 1


def reference_network(folder: Path) -> Any:
    """The authors' network, as their script for Fashion-MNIST makes it, on the CPU."""
    if not (folder / "models" / "snn_ide_fc.py").is_file():
        sys.exit(f"--reference: {folder} is not a checkout of the authors' code: it has no models/snn_ide_fc.py")
    sys.path.insert(0, str(folder))
    torch.Tensor.cuda = lambda self, *args, **kwargs: self  # type: ignore[method-assign] # the code moves everything to a GPU
    from models.snn_ide_fc import SNNIDEFCNet

    settings = {"dim_in": 784, "dim_hidden": 400, "num_classes": 10, "threshold": 30, "dropout": 0.2}
    settings |= {"time_step": REFERENCE_STEPS, "vth": REFERENCE_VTH, "leaky": REFERENCE_LEAK}
    return SNNIDEFCNet({"MODEL": settings, "OPTIM": {"solver": "broy"}})


def train_reference(net: Any, dataset: fl.Dataset, normalisation: fl.Normalisation) -> None:
    """Some iterations with their gradient and the settings of their script."""
    descent = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    labels = torch.as_tensor(np.asarray(dataset.train.labels))
    for chosen in torch.randperm(len(labels)).split(BATCH)[:REFERENCE_ITERATIONS]:
        outputs = net.train()(normalised(dataset.train.batch(chosen.numpy()), normalisation))
        descent.zero_grad()
        nn.functional.cross_entropy(outputs, labels[chosen]).backward()
        descent.step()


if __name__ == "__main__":
    sys.exit(main())
