"""The layout of a network for the kernels: when sums need 64 bits."""

from __future__ import annotations

import numpy as np

from fsnn_lava.backends.emulator.layout import largest_layout_sum
from fsnn_lava.ir.network import ConvSynapse, DenseSynapse, TransposedConvSynapse


def test_the_largest_sum_is_that_of_the_target_with_most_weight():
    rng = np.random.default_rng(3)
    ends, weight = {"source": "a", "target": "b"}, rng.integers(-127, 128, (3, 4, 2, 5))
    size = np.abs(weight)
    assert largest_layout_sum(DenseSynapse(**ends, weight=weight[:, :, 0, 0])) == max(size[i, :, 0, 0].sum() for i in range(3))
    assert largest_layout_sum(ConvSynapse(**ends, weight=weight)) == max(size[i].sum() for i in range(3))
    assert largest_layout_sum(TransposedConvSynapse(**ends, weight=weight)) == max(size[:, i].sum() for i in range(4))
    assert largest_layout_sum(DenseSynapse(source="input", target="b", weight=np.array([[-3, 2], [4, 0]]))) == 255 * 5
