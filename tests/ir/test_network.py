"""The integer network: parts that are left out get their documented defaults."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import Input


def test_an_input_is_bytes_from_0_to_1_by_default():
    input = Input(kind="pixels", shape=(2,))
    assert (input.divisor, input.mean, input.std) == (255.0, (0.0,), (1.0,))


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"divisor": 0.0}, "divisor must be positive"),
        ({"divisor": -1.0}, "divisor must be positive"),
        ({"divisor": np.inf}, "divisor must be positive"),
        ({"mean": (np.nan,)}, "mean must be finite"),
        ({"std": (1.0, 0.0)}, "std must be positive"),
        ({"std": (np.inf,)}, "std must be positive"),
        ({"kind": "sound"}, "kind must be pixels, events or current, got 'sound'"),
    ],
)
def test_an_input_without_meaning_is_refused(option, sentence):
    with pytest.raises(BadNetwork, match=sentence):
        Input(**{"kind": "pixels", "shape": (2,), **option})
