"""Event input: run a sequence of frames instead of an image, in the float network and on the emulator.

python examples/event_input.py
"""

from __future__ import annotations

import numpy as np
import torch

import fsnn_lava as fl


def main() -> None:
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    events = (random.random((8, 20, 2, 12, 12)) < 0.1).astype(np.uint8)  # [samples, steps, polarities, height, width]
    net = fl.FSNN("8C3s (F8C3)", input_shape=(2, 12, 12), classes=4, neuron=fl.LIF(0.95), steps=20, norm="operator").eval()
    floats = net(torch.from_numpy(events).float())  # inputs are averaged with the same weights as the rates (E3)
    chip = fl.quantise(net, calibration=events)
    result = fl.run(chip, events, backend="emu")
    print(fl.compare(result, chip, events, model=net).to_text())
    agree = (floats.argmax(1).numpy() == result.predictions).mean()
    print(f"the integer network and the float network agree on {agree:.0%} of the samples")


if __name__ == "__main__":
    main()
