"""Patches worked out by hand: the sums over spans and taps give the matrix of the connection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional

from fsnn_lava.compiled.patches import Patches, convolution_patches, dense_patches, transposed_patches


def written_out(patches: Patches, source: tuple[int, ...], target: tuple[int, ...]) -> np.ndarray:
    """[*target, *source]: every message adds its block of weights, as the description of a span says."""
    (channels, height, width), (out, rows, columns) = source, target
    inner, outer = channels // patches.groups, out // patches.groups
    matrix = np.zeros((out, rows, columns, channels, height, width), int)
    for c, y, x in np.ndindex(source):
        top, first_row, row_taps = patches.row_spans[y]
        left, first_column, column_taps = patches.column_spans[x]
        into = slice(c // inner * outer, (c // inner + 1) * outer)
        for i, j in np.ndindex(int(row_taps), int(column_taps)):
            matrix[into, top + i * patches.row_step, left + j * patches.column_step, c, y, x] += patches.weight[
                first_row + i, first_column + j, c
            ]
    return matrix


def torchs(apply: Callable[[torch.Tensor], torch.Tensor], source: tuple[int, ...]) -> np.ndarray:
    basis = torch.eye(int(np.prod(source)), dtype=torch.float64).view(-1, *source)
    return np.moveaxis(apply(basis).numpy(), 0, -1).astype(int)


def random_weight(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-127, 128, shape).astype(np.int8)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "groups", "dilation"),
    [
        ((3, 3), (1, 1), (1, 1), 1, (1, 1)),
        ((3, 2), (2, 1), (1, 0), 1, (1, 1)),
        ((2, 4), (3, 2), (0, 2), 2, (1, 1)),
        ((1, 1), (2, 3), (0, 0), 1, (1, 1)),
        ((3, 3), (1, 1), (2, 1), 4, (2, 3)),
        ((3, 2), (2, 2), (3, 1), 1, (2, 3)),
        ((2, 3), (3, 4), (1, 2), 2, (4, 2)),
    ],
)
def test_a_convolution_is_torchs(kernel, stride, padding, groups, dilation):
    source, weight = (4, 6, 7), random_weight(8 if groups == 4 else 6, 4 // groups, *kernel)
    expected = torchs(lambda x: functional.conv2d(x, torch.from_numpy(weight).double(), None, stride, padding, dilation, groups), source)
    target = expected.shape[:3]
    patches = convolution_patches(weight, source, target, stride=stride, padding=padding, groups=groups, dilation=dilation)
    np.testing.assert_array_equal(written_out(patches, source, target).reshape(expected.shape), expected)
    assert (patches.width, patches.channels) == (target[2], len(weight))
    assert int(patches.fan_out.sum()) * 4 == int((written_out(patches_of_ones(patches), source, target) != 0).sum())


def patches_of_ones(patches: Patches) -> Patches:
    return Patches(
        weight=np.ones_like(patches.weight),
        row_spans=patches.row_spans,
        column_spans=patches.column_spans,
        width=patches.width,
        channels=patches.channels,
        groups=patches.groups,
        row_step=patches.row_step,
        column_step=patches.column_step,
    )


@pytest.mark.parametrize(("kernel", "stride", "padding", "extra"), [((3, 3), (2, 2), (1, 1), (1, 0)), ((2, 3), (3, 1), (0, 1), (2, 0))])
def test_a_transposed_convolution_is_torchs(kernel, stride, padding, extra):
    source, weight = (3, 4, 5), random_weight(3, 2, *kernel)
    expected = torchs(lambda x: functional.conv_transpose2d(x, torch.from_numpy(weight).double(), None, stride, padding, extra), source)
    target = expected.shape[:3]
    patches = transposed_patches(weight, source, target, stride=stride, padding=padding)
    np.testing.assert_array_equal(written_out(patches, source, target).reshape(expected.shape), expected)


def test_a_dense_connection_has_one_place_and_its_sources_channels_last():
    weight = random_weight(5, 24)
    patches = dense_patches(weight, (2, 3, 4))
    assert (patches.weight.shape, patches.channels, patches.width) == ((1, 1, 24, 5), 5, 1)
    for c, y, x in np.ndindex(2, 3, 4):
        np.testing.assert_array_equal(patches.weight[0, 0, (y * 4 + x) * 2 + c], weight[:, (c * 3 + y) * 4 + x])
    np.testing.assert_array_equal(dense_patches(weight, (24,)).weight[0, 0], weight.T)


def test_blocks_hold_every_weight_once_in_rows_of_at_most_64_channels():
    """130 target channels are blocks of 64, 64 and 2; a row of few weights is fused, its taps beside each other."""
    wide = convolution_patches(random_weight(130, 3, 3, 3), (3, 5, 5), (130, 5, 5), stride=(1, 1), padding=(1, 1), groups=1)
    assert not wide.fused
    parts = np.split(wide.blocks, [9 * 3 * 64, 9 * 3 * 128])
    for part, first in zip(parts, (0, 64, 128), strict=True):
        np.testing.assert_array_equal(part.reshape(3, 3, 3, -1), wide.weight[..., first : first + 64])
    small = convolution_patches(random_weight(4, 3, 3, 3), (3, 5, 5), (4, 5, 5), stride=(1, 1), padding=(1, 1), groups=1)
    assert small.fused
    np.testing.assert_array_equal(small.blocks.reshape(3, 3, 3, 4), small.weight.transpose(0, 2, 1, 3))
