"""Your own architecture: write it in one line, train it in your own loop, quantise it, run it and compare.

    python examples/own_architecture.py ["12C3s-16C3 (F12C3)"]

12C3s is a 3 x 3 convolution with 12 output channels and stride 2, 16C3-P2 has 16 output channels and 2 x 2 average pooling, and 100 is a
dense layer. (F…) is the feedback from the last layer to the first: F12C3 is a convolution, F12C3u a transposed convolution (for loops that
contain a stride), and F100 is dense.
"""

from __future__ import annotations

import sys

import torch

import fsnn_lava as fl


def main(architecture: str = "12C3s-16C3 (F12C3)") -> int:
    data = fl.load_data("digits")
    torch.manual_seed(0)
    net = fl.FSNN(
        architecture, input_shape=data.shape, classes=data.classes, steps=20, norm="operator", limit=0.25, normalisation=data.normalisation
    )
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    images, labels = torch.from_numpy(data.train.batch(slice(0, None))), torch.from_numpy(data.train.labels)
    for epoch in range(4):
        for part in torch.randperm(len(images)).split(64):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(images[part]), labels[part])
            loss.backward()  # implicit differentiation: memory does not depend on the number of steps
            optimiser.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")

    pixels = data.test.batch(slice(0, 100))
    chip = fl.quantise(net.eval(), bits=8, calibration=data.train.batch(slice(0, 128)))
    verdict = fl.compare(fl.run(chip, pixels, backend="emu"), chip, pixels, labels=data.test.labels[:100], model=net)
    print(verdict.to_text())
    return 0 if verdict.passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
