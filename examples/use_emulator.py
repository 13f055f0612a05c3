"""The emulator in Python: run the integer network in batches, and record every spike if you want.

python examples/use_emulator.py
"""

from __future__ import annotations

import fsnn_lava as fl
from fsnn_lava.models.find import find_model
from fsnn_lava.running.run import run_batches


def main() -> None:
    chip = fl.ChipNetwork.load(find_model("digits"))  # or the path of a net.h5
    test = fl.load_data("digits").test
    pixels, labels = test.batch(slice(0, 50)), test.labels[:50]  # raw uint8 [50, 1, 8, 8]

    result = fl.run(chip, pixels, backend="emu", spikes=True)
    for layer, spikes, rates in zip(chip.layers, result.spikes, result.rates, strict=True):
        print(f"{layer.name}: spikes {spikes.shape} [samples, steps, channels, height, width], {rates.mean():.3f} per neuron and step")
    print(f"{result.operations.mean():,.0f} synaptic operations per image; potentials are integers ({result.potentials[0].dtype})")

    for steps in (4, 8, 16, 32, 64):
        right = (fl.run(chip, pixels, backend="emu", steps=steps).predictions == labels).mean()
        print(f"T = {steps:2d}: {right:.0%} correct")

    parts = (test.batch(slice(start, start + 100)) for start in range(0, len(test), 100))
    done = [part.predictions for part in run_batches(chip, parts, batch=100)]  # takes any iterable and keeps only one batch in memory
    print(f"{sum(map(len, done))} images in {len(done)} batches")


if __name__ == "__main__":
    main()
