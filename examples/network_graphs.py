"""Networks with more than one loop: train, quantise, run and compare a feedback ResNet, and a graph with recurrence in every layer.

    python examples/network_graphs.py [emu | sim]

The ResNet has two residual blocks, each with its own skip (S) and loop (F); the second skip is a 1 x 1 convolution with stride 2.
train/fashion-mnist-resnet.toml and train/fashion-mnist-recurrent.toml train larger ones.
"""

from __future__ import annotations

import sys

import torch

import fsnn_lava as fl

RESNET = "8C3s-8C3-8C3-12C3s-12C3 (S1>3, S3>5:12C1s, F3>2:8C3, F5>4:12C3)"


def recurrent(shape: tuple[int, ...], sizes: tuple[int, ...]) -> fl.Graph:
    """Dense layers, each with a connection onto itself; the first one has a threshold of its own."""
    names = [f"r{number}" for number in range(1, len(sizes) + 1)]
    layers = [fl.Neurons(name, size, vth=1.0 if name == "r1" else None) for name, size in zip(names, sizes, strict=True)]
    ahead = [fl.Connection(source=source, target=target) for source, target in zip(["input", *names], names)]
    return fl.Graph(shape, layers, ahead + [fl.Connection(source=name, target=name, limit=0.5) for name in names])


def train(net: fl.FSNN, data: fl.Dataset, epochs: int = 1) -> None:
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    images, labels = torch.from_numpy(data.train.batch(slice(0, None))), torch.from_numpy(data.train.labels)
    for epoch in range(epochs):
        for part in torch.randperm(len(images)).split(64):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(images[part]), labels[part])
            loss.backward()  # beta lives where feedback starts (E13)
            optimiser.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")


def main(backend: str = "emu") -> int:
    data = fl.load_data("digits")
    torch.manual_seed(0)
    faithful = True
    for architecture in (RESNET, recurrent(data.shape, (40, 30, 20))):
        net = fl.FSNN(
            architecture,
            input_shape=data.shape,
            classes=data.classes,
            steps=12,
            norm="operator",
            limit=0.3,
            normalisation=data.normalisation,
        )
        print(net)
        train(net, data)
        print(f"spectral radius of the gains {net.eval().spectral_radius():.3f} (below 1: certified to have one equilibrium)")
        chip = fl.quantise(net, calibration=data.train.batch(slice(0, 64)))
        pixels, labels = data.test.batch(slice(0, 60)), data.test.labels[:60]
        verdict = fl.compare(fl.run(chip, pixels, backend=backend), chip, pixels, labels=labels, model=net)
        print(verdict.to_text())
        print(fl.place(chip, board="oheo-gulch"))
        faithful = faithful and verdict.passed
    return 0 if faithful else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
