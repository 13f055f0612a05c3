"""A small finished run for the tests of the report: real digits, a network of two layers with a transposed convolution back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.data.digits import load_digits
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.quantisation.quantise import quantise
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.verdict import Verdict

EVIL = "<script>alert(\"x\")</script> & 'co' $y$"  # what a class might be called
SAMPLES = 24


@dataclass(frozen=True)
class Case:
    model: FSNN
    chip: ChipNetwork
    values: np.ndarray
    labels: np.ndarray
    result: Result
    verdict: Verdict


@cache
def digits_case() -> Case:
    digits = load_digits()
    torch.manual_seed(4)
    model = FSNN(
        "6C3-5C3s (F6C3u)",
        input_shape=(1, 8, 8),
        classes=10,
        vth=1.0,
        steps=12,
        normalisation=digits.normalisation,
        class_names=(EVIL, *(f"class {i}" for i in range(1, 10))),
    ).eval()
    values, labels = digits.test.batch(slice(0, SAMPLES)), digits.test.labels[:SAMPLES]
    chip = quantise(model, calibration=digits.train.batch(slice(0, 16)))
    result = Emulator(chip).run(values)
    return Case(model, chip, values, labels, result, compare(result, chip, values, labels=labels, model=model))
