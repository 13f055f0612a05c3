"""Parts of the emulator by themselves: what a whole run would not show, because only time or foreign memory depends on it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from fsnn_lava.backends.emulator.layout import largest_sum
from fsnn_lava.compiled.row_sums import add_blocks
from fsnn_lava.compiled.scatter import find_places
from fsnn_lava.ir.network import ConvSynapse, DenseSynapse, TransposedConvSynapse
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("source", [(7,), (2, 3, 4)])
@pytest.mark.parametrize("targets", [1, 15, 16, 17, 40])
def test_blocks_of_targets_get_what_the_matrix_sends_them(targets, source, dtype):
    """From no spike to all of them; small integers are exact."""
    torch.manual_seed(targets)
    size, full = int(np.prod(source)), -(-targets // 16) * 16
    weight = torch.randint(-9, 10, (targets, size)).to(dtype)
    spikes = torch.tensor([[float(i < number) for i in torch.randperm(size)] for number in range(size + 1)]).to(dtype)
    lists, lengths = np.full((size + 1, size + 3), 10**6, np.int32), np.zeros(size + 1, np.int64)
    for b, fired in enumerate(spikes.view(-1, *source).permute(0, 2, 3, 1).flatten(1) if len(source) == 3 else spikes):
        found = np.flatnonzero(fired.numpy())
        lists[b, : len(found)], lengths[b] = found, len(found)
    blocks = ConnectionLayout(Dense(in_shape=source, channels=targets), in_blocks=True).ordered(weight)
    out = torch.ones(size + 1, full, dtype=dtype)
    add_blocks(out.numpy(), blocks.numpy(), lists, lengths, size)
    assert torch.equal(out[:, :targets] - 1, spikes @ weight.t())
    assert bool((out[:, targets:] == 1).all())


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
