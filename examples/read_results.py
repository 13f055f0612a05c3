"""Run the emulator from Python, keep results.h5, and read it again.

python examples/read_results.py [NETWORK]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import fsnn_lava as fl
from fsnn_lava.cli import run
from fsnn_lava.data import load
from fsnn_lava.formats import results
from fsnn_lava.models import find


def main(network: str) -> None:
    chip = fl.ChipNetwork.load(find(network))
    pixels = load("digits").test.batch(range(50))
    result = fl.run(chip, pixels, backend="emu", spikes=True)
    print(f"{result.spikes[0].shape} spikes, {result.operations.mean():.0f} synaptic operations per sample")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.h5"
        run.main([network, "--backend", "emu", "--limit", "50", "--out", str(path), "--no-compare"])
        again = results.read(path)
        same = all((a == b).all() for a, b in zip(again.result.counts, result.counts, strict=True))
        print(f"{again.provenance.backend}, {again.provenance.date}; counts are those of before: {same}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "digits")
