"""Parts of the emulator by themselves: what a whole run would not show, because only time or foreign memory depends on it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from fsnn_lava.chip.network import ConvSynapse, DenseSynapse, TransposedConvSynapse
from fsnn_lava.emulator.floats import Link, _Laid
from fsnn_lava.emulator.kernels import find_places
from fsnn_lava.emulator.program import largest_sum


@pytest.mark.parametrize("kind", ["dense", "conv", "transposed"])
def test_the_products_of_a_step_are_the_weights_that_meet_a_target(kind):
    source, ones = (2, 5, 7), torch.ones(1, 2, 5, 7)
    if kind == "dense":
        link, expected = Link(kind=kind, source=(6,), target=(4,)), 24
    elif kind == "conv":
        link = Link(kind=kind, source=source, target=(3, 3, 4), kernel=3, stride=2, padding=1)
        expected = int(functional.conv2d(ones, torch.ones(3, 2, 3, 3), stride=2, padding=1).sum())
    else:
        link = Link(kind=kind, source=source, target=(3, 10, 14), kernel=3, stride=2, padding=1)
        expected = int(functional.conv_transpose2d(ones, torch.ones(2, 3, 3, 3), stride=2, padding=1, output_padding=1).sum())
    assert _Laid(link).products == expected


@pytest.mark.parametrize(
    ("indices", "starts"), [([], [0, 0, 0, 0]), ([0, 2, 3, 11], [0, 3, 3, 4]), ([4, 5], [0, 0, 2, 2]), ([9], [0, 0, 0, 1])]
)
def test_places_are_found_and_nothing_behind_them_is_written(indices, starts):
    """Four channels, three places."""
    room = np.full(9, -7, np.int32)
    find_places(np.array(indices, np.int32), 4, room[2:6])
    assert room.tolist() == [-7, -7, *starts, -7, -7, -7]


def test_the_largest_sum_is_that_of_the_target_with_most_weight():
    rng = np.random.default_rng(3)
    ends, weight = {"source": "a", "target": "b"}, rng.integers(-127, 128, (3, 4, 2, 5))
    size = np.abs(weight)
    assert largest_sum(DenseSynapse(**ends, weight=weight[:, :, 0, 0])) == max(size[i, :, 0, 0].sum() for i in range(3))
    assert largest_sum(ConvSynapse(**ends, weight=weight)) == max(size[i].sum() for i in range(3))
    assert largest_sum(TransposedConvSynapse(**ends, weight=weight)) == max(size[:, i].sum() for i in range(4))
    assert largest_sum(DenseSynapse(source="input", target="b", weight=np.array([[-3, 2], [4, 0]]))) == 255 * 5
