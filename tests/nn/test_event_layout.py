"""The tables of the event-driven simulation."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from fsnn_lava.nn.event_layout import ConnectionLayout
from fsnn_lava.nn.operators import Convolution, Dense, TransposedConvolution


@pytest.mark.parametrize("kind", ["dense", "conv", "transposed"])
def test_the_products_of_a_step_are_the_weights_that_meet_a_target(kind):
    source, ones = (2, 5, 7), torch.ones(1, 2, 5, 7)
    if kind == "dense":
        operator, expected = Dense(in_shape=(6,), channels=4), 24
    elif kind == "conv":
        operator = Convolution(in_shape=source, channels=3, kernel=(3, 3), stride=(2, 2), padding=(1, 1))
        expected = int(functional.conv2d(ones, torch.ones(3, 2, 3, 3), stride=2, padding=1).sum())
    else:
        operator = TransposedConvolution(in_shape=source, channels=3, kernel=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1))
        expected = int(functional.conv_transpose2d(ones, torch.ones(2, 3, 3, 3), stride=2, padding=1, output_padding=1).sum())
    assert ConnectionLayout(operator).products == expected
