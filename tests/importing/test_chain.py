"""Modules in order, and a sentence for each that cannot be converted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.chain import links


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.first(x) if x.sum() > 0 else self.second(x)


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Gate(nn.Module):
    """Not torch's, although its package has "activation" in its name."""

    __module__ = "framework.activation_based.layer"


class Backwards(nn.Sequential):
    def forward(self, x):
        for module in reversed(list(self)):
            x = module(x)
        return x


def test_nested_sequentials_are_read_in_order_under_their_full_names():
    net = nn.Sequential(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()), nn.Flatten(), nn.Sequential(nn.Linear(8, 2)))
    assert [link.name for link in links(net)] == ["0.0", "0.1", "1", "2.0"]


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (nn.MaxPool2d(2), r"layer '1' \(MaxPool2d\) takes a maximum, .* replace it with nn.AvgPool2d"),
        (nn.Softmax(dim=1), r"layer '1' \(Softmax\) cannot be computed by spiking neurons: remove it if it is last"),
        (nn.Sigmoid(), r"layer '1' \(Sigmoid\) is not a rectified linear function, .* train with nn.ReLU"),
        (nn.LSTM(4, 4), r"layer '1' \(LSTM\) has gates"),
        (nn.AdaptiveAvgPool2d(1), r"layer '1' \(AdaptiveAvgPool2d\) chooses its window"),
        (nn.PixelShuffle(2), r"layer '1' \(PixelShuffle\) is not supported: convert it to Linear"),
        (Gate(), r"layer '1' \(Gate\) is not supported: .* or to a spiking neuron of a framework in docs/importing.md"),
        (Doubled(4, 4), r"layer '1' \(Doubled\) is not supported"),
        (Branching(), r"layer '1' \(Branching\) has its own forward\(\)"),
        (Backwards(nn.Linear(4, 4), nn.ReLU()), r"layer '1' \(Backwards\) has its own forward\(\)"),
    ],
)
def test_what_cannot_be_converted_is_named_with_its_layer_and_a_remedy(module, sentence):
    with pytest.raises(BadArgument, match=sentence):
        links(nn.Sequential(nn.Linear(4, 4), module))


@pytest.mark.parametrize("module", [Branching(), Backwards(nn.Linear(4, 4)), nn.Linear(4, 4)])
def test_a_forward_of_its_own_is_refused(module):
    with pytest.raises(BadArgument, match=rf"{type(module).__name__} has its own forward\(\), .* pass nn.Sequential"):
        links(module)


def test_something_else_than_a_module_is_refused():
    with pytest.raises(BadArgument, match=r"must be an nn\.Module, got Tensor"):
        links(torch.zeros(2))
