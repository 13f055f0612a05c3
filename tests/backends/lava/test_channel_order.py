"""Conversion between (C, H, W) outside our processes and (H, W, C) inside."""

from __future__ import annotations

import numpy as np

from fsnn_lava.backends.lava.channel_order import channels_first, channels_last


def test_channels_move_to_the_end_and_back():
    shape = (2, 3, 4)
    values = np.arange(5 * 24).reshape(5, *shape)
    inside = channels_last(values, shape)
    np.testing.assert_array_equal(inside[0, :4], [0, 12, 1, 13])  # both channels of (0, 0), then of (0, 1)
    np.testing.assert_array_equal(channels_first(inside, shape), values)
    assert channels_first(inside, shape).flags.c_contiguous


def test_a_dense_layer_is_copied_not_shared():
    values = np.arange(6).reshape(2, 3)
    back = channels_first(channels_last(values, (3,)), (3,))
    np.testing.assert_array_equal(back, values)
    assert not np.shares_memory(back, values)
