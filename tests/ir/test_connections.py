"""Connections: defaults, and geometry that torch would refuse."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import ConvSynapse, DenseSynapse, HostDrive, TransposedConvSynapse


def test_a_convolution_moves_by_one_and_pads_nothing_by_default():
    kernel = np.arange(-9, 9).reshape(2, 1, 3, 3)
    drive = HostDrive(weight=kernel / 7, bias=np.zeros((2, 4, 4)))
    assert (drive.stride, drive.padding) == ((1, 1), (0, 0))
    conv = ConvSynapse(source="input", target="l1", weight=kernel)
    assert (conv.stride, conv.padding, conv.groups, conv.exponent) == ((1, 1), (0, 0), 1, 0)
    back = TransposedConvSynapse(source="l1", target="l1", weight=kernel)
    assert (back.stride, back.padding, back.output_padding, back.exponent) == ((2, 2), (0, 0), (0, 0), 0)
    assert DenseSynapse(source="l1", target="l1", weight=kernel.reshape(2, 9)).exponent == 0


@pytest.mark.parametrize(("groups", "channels"), [(0, 0), (0, 4), (-2, -4), (-3, 4), (1, 4), (4, 8)])
def test_groups_that_do_not_divide_the_channels_are_refused(groups, channels):
    conv = ConvSynapse(source="input", target="l1", weight=np.ones((6, 2, 3, 3), int), groups=groups)
    with pytest.raises(BadNetwork, match=rf"weight \(6, 2, 3, 3\) with {groups} groups does not take {channels} channels"):
        conv.output_shape((channels, 5, 5))
    assert ConvSynapse(source="input", target="l1", weight=np.ones((6, 2, 3, 3), int), groups=2).output_shape((4, 5, 5)) == (6, 3, 3)


@pytest.mark.parametrize("option", [{"stride": (0, 2)}, {"padding": (-1, 0)}, {"output_padding": (2, 0)}, {"output_padding": (0, -1)}])
def test_a_transposed_convolution_that_torch_would_not_do_is_refused(option):
    back = TransposedConvSynapse(source="l1", target="l1", weight=np.ones((2, 3, 3, 3), int), **option)
    with pytest.raises(BadNetwork, match="are inconsistent"):
        back.output_shape((2, 5, 5))


@pytest.mark.parametrize("option", [{"stride": (0, 1)}, {"padding": (-1, 0)}])
def test_a_convolution_with_impossible_sizes_is_refused(option):
    conv = ConvSynapse(source="input", target="l1", weight=np.ones((2, 3, 3, 3), int), **option)
    with pytest.raises(BadNetwork, match="padding non-negative"):
        conv.output_shape((3, 5, 5))
