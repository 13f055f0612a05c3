"""The tables of the event-driven simulation."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from fsnn_lava.compiled.patches import WIDEST
from fsnn_lava.nn.event_layout import CONVOLVED_TOGETHER, TOGETHER, ConnectionLayout, NetworkLayout, WireShape
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


def test_samples_are_stepped_together_where_the_weights_are_many():
    small = Convolution(in_shape=(128, 2, 2), channels=200, kernel=(3, 3), padding=(1, 1))
    large = Convolution(in_shape=(128, 2, 2), channels=256, kernel=(3, 3), padding=(1, 1))  # 294912 weights, more than 2**18
    dense = Dense(in_shape=(4,), channels=3)
    found = [NetworkLayout((one.in_shape, one.out_shape), [WireShape(0, 1, 0, one)], (True, False)) for one in (small, large, dense)]
    assert [(layout.together, layout.in_blocks) for layout in found] == [(1, False), (CONVOLVED_TOGETHER, False), (TOGETHER, True)]


@pytest.mark.parametrize("kind", ["conv", "transposed"])
def test_more_channels_than_fit_one_block_follow_in_the_next(kind):
    made = {"in_shape": (3, 4, 4), "channels": WIDEST + 6, "kernel": (3, 3), "padding": (1, 1)}
    operator = Convolution(**made) if kind == "conv" else TransposedConvolution(**made, stride=(2, 2), output_padding=(1, 1))
    weight = torch.randn(operator.weight_shape)
    layout = ConnectionLayout(operator)
    by_tap = weight.permute(2, 3, 1, 0)[[2, 1, 0]][:, [2, 1, 0]] if kind == "conv" else weight.permute(2, 3, 0, 1)
    assert torch.equal(layout.ordered(weight), torch.cat([by_tap[..., :WIDEST].flatten(), by_tap[..., WIDEST:].flatten()]))
