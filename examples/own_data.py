"""Your own data: write an .npz file, then use it with the commands like any other data set.

    python examples/own_data.py [FOLDER]

This script makes 10 x 10 images of bars; use your own arrays instead. All files go to FOLDER.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np

from fsnn_lava.cli.export import fsnn_export
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.cli.train import fsnn_train

RECIPE = Path(__file__).parent.parent / "train" / "digits.toml"


def bars(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return raw uint8 images [count, 1, 10, 10] and their classes: 0 is a horizontal bar, 1 a vertical one, 2 both."""
    random = np.random.default_rng(seed)
    images = random.integers(0, 60, (count, 1, 10, 10), dtype=np.uint8)
    classes = random.integers(0, 3, count)
    for image, label in zip(images, classes, strict=True):
        if label != 1:
            image[0, random.integers(0, 10), :] = 210
        if label != 0:
            image[0, :, random.integers(0, 10)] = 210
    return images, classes


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    (x_train, y_train), (x, y) = bars(600, seed=0), bars(100, seed=1)
    data, model, network = folder / "bars.npz", folder / "run" / "last.pt", folder / "bars.h5"
    np.savez(data, x_train=x_train, y_train=y_train, x=x, y=y)  # x and y are the test samples
    for name, command, arguments in (
        ("fsnn-train", fsnn_train, [RECIPE, "--out", folder / "run", "--set", f"data={data}", "--set", "epochs=4"]),
        ("fsnn-export", fsnn_export, [model, network]),
        ("fsnn-run", fsnn_run, [network, "--backend", "emu", "--model", model, "--report", folder / "report.html"]),
    ):
        words = [str(argument) for argument in arguments]
        print(f"\n$ {name} {shlex.join(words)}", flush=True)
        code = command(words)
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "bars")))
