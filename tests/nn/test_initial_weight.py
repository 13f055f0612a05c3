"""Initial weights: every output has a random direction of length 1."""

from __future__ import annotations

import torch

from fsnn_lava.nn.initial_weight import initial_weight


def test_every_output_has_length_1_and_they_differ():
    torch.manual_seed(0)
    weight = initial_weight((6, 3, 5, 5))
    # a sum of 75 squares in float32: relative error below 75 * 2**-24
    torch.testing.assert_close(weight.flatten(1).norm(dim=1), torch.ones(6), rtol=75 * 2.0**-24, atol=0)
    assert weight.min() < 0 < weight.max() and not torch.equal(weight[0], weight[1])
