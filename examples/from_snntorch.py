"""The network of snnTorch's tutorial 5, rebuilt: 1000 leaky neurons, 25 steps, Adam, one epoch of MNIST.

python examples/from_snntorch.py            # or another data set: python examples/from_snntorch.py digits

There are four differences: the hidden layer feeds back to itself, the output layer does not spike, the gradient is that of the equilibrium
(so memory does not depend on the number of steps), and the last lines quantise the network and check it, which the tutorial does not do.
The tutorial (docs/tutorials/tutorial_5.rst at snnTorch's commit 02fc50b) needs 73 lines of code for the same task, not counting blank
lines, comments, unused imports, plots, and tests and output during training; this file has 27, which a test checks.
"""

from __future__ import annotations

import sys

import torch
from torch.utils.data import DataLoader

import fsnn_lava as fl


def main(name: str = "mnist") -> int:
    torch.manual_seed(0)
    data = fl.load_data(name, download=True)
    neuron, normalisation = fl.LIF(0.95), data.normalisation
    net = fl.FSNN("1000 (F1000)", input_shape=data.shape, classes=data.classes, neuron=neuron, steps=25, normalisation=normalisation)
    optimiser = torch.optim.Adam(net.parameters(), lr=5e-4)
    for images, labels in DataLoader(data.train, batch_size=128, shuffle=True):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimiser.step()
    net.eval()
    with torch.no_grad():
        answers = torch.cat([net(images).argmax(1) for images, _ in DataLoader(data.test, batch_size=128)])
    correct = int((answers == torch.from_numpy(data.test.labels)).sum())
    print(f"Test set accuracy: {correct}/{len(data.test)} ({correct / len(data.test):.2%})")
    pixels, labels = data.test.batch(range(256)), data.test.labels[:256]
    chip = fl.quantise(net, calibration=data.train.batch(range(128)))
    verdict = fl.compare(fl.run(chip, pixels), chip, pixels, labels=labels, model=net)
    print(verdict.to_text())
    return 0 if verdict.passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
