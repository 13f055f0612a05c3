"""The trained digits network, if it has been trained and exported here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.chip.network import ChipNetwork
from hw_tests.test_synapses import assert_same
from tests.reference import simulate

FOLDER = Path(__file__).parent.parent / "examples" / "models" / "digits"


def test_the_trained_digits_network(target):
    files = sorted(FOLDER.glob("*.h5"))
    if not files:
        pytest.skip("examples/models/digits holds no exported network")
    chip = ChipNetwork.load(files[0])
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    values = digits.images[-3:].astype(np.uint8).reshape(3, *chip.input.shape)
    assert_same(target.run(chip, values), simulate(chip, values))
