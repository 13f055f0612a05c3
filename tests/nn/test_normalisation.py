"""A normalisation that cannot be inverted is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.normalisation import Normalisation


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"divisor": 0.0}, "divisor must be a positive number, got 0.0"),
        ({"mean": (0.1, 0.2)}, "one entry per channel each, got 2 and 1"),
        ({"mean": (), "std": ()}, "one entry per channel each, got 0 and 0"),
        ({"std": (-1.0,)}, "every std must be a positive number"),
        ({"divisor": "255"}, "divisor must be a positive number, got '255'"),
        ({"divisor": None}, "divisor must be a positive number, got None"),
        ({"mean": "12"}, "mean must be a number, or one number per channel, got '12'"),
        ({"mean": "grey"}, "mean must be a number, or one number per channel, got 'grey'"),
        ({"std": None}, "std must be a number, or one number per channel, got None"),
        ({"mean": (float("nan"),)}, "every mean must be finite"),
    ],
)
def test_a_normalisation_that_cannot_be_undone_is_refused(fields, sentence):
    with pytest.raises(BadArgument, match=sentence):
        Normalisation(**fields)


def test_a_single_number_is_short_for_one_channel():
    assert Normalisation(255.0, 0.1307, 0.3081) == Normalisation(255.0, (0.1307,), (0.3081,))
    assert Normalisation(np.array(255.0), np.array(0.1307), torch.tensor(0.5)) == Normalisation(255.0, (0.1307,), (0.5,))
