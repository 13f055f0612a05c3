"""Your own data and architecture: an .npz file, a network of your own, trained, exported, run and compared.

    python examples/own_data.py [FOLDER]

The data made here are 10 x 10 images of bars, horizontal or vertical or both; put your own arrays in their place.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import fsnn_lava as fl
from fsnn_lava.cli import export, run

ARCHITECTURE = "12C3s-16C3 (F12C3)"  # change it: see fsnn_lava/architecture.py for the notation


def bars(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Raw uint8 images [count, 1, 10, 10] and their classes: 0 horizontal, 1 vertical, 2 both."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 60, (count, 1, 10, 10), dtype=np.uint8)
    y = random.integers(0, 3, count)
    for image, label in zip(x, y, strict=True):
        if label != 1:
            image[0, random.integers(0, 10), :] += 150
        if label != 0:
            image[0, :, random.integers(0, 10)] = 210
    return x, y.astype(np.int64)


def main(folder: Path) -> int:
    x, y = bars(600, seed=0)
    np.savez(folder / "bars.npz", x=x[500:], y=y[500:])

    torch.manual_seed(0)
    scale = fl.Normalisation(255.0, (float(x.mean() / 255),), (float(x.std() / 255),))
    net = fl.FSNN(ARCHITECTURE, input_shape=x.shape[1:], classes=3, steps=20, norm="operator", normalisation=scale)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _epoch in range(6):
        for part in torch.randperm(500).split(50):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(torch.from_numpy(x[part.numpy()])), torch.from_numpy(y[part.numpy()]))
            loss.backward()
            optimiser.step()
            net.feedback.clip_()
        print(f"loss {loss.item():.3f}, {net.last_solve[0]} products")
    net.eval().save(folder / "bars.pt")

    data = str(folder / "bars.npz")
    code = export.main([str(folder / "bars.pt"), str(folder / "bars.h5"), "--data", data])
    return code or run.main([str(folder / "bars.h5"), "--backend", "emu", "--data", data, "--model", str(folder / "bars.pt")])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary)))
