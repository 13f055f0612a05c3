"""Chains of modules as layers of neurons with names."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from torch import nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.blocks import split
from fsnn_lava.importing.chain import links


def blocks(*modules, shape=(6,), **named):
    net = nn.Sequential(*modules) if modules else nn.Sequential(OrderedDict(named))
    return split(links(net), shape, lambda module: isinstance(module, nn.ReLU))


def test_a_layer_has_the_name_of_its_neurons_if_that_is_allowed():
    named = blocks(fc1=nn.Linear(6, 5), act1=nn.ReLU(), fc2=nn.Linear(5, 4), readout=nn.ReLU(), out=nn.Linear(4, 2))
    assert [block.name for block in named.layers] == ["act1", "l2"]  # "readout" is reserved
    assert [block.name for block in blocks(nn.Linear(6, 5), nn.ReLU()).layers] == ["l1"]


def test_a_name_by_position_that_the_source_has_given_already_is_not_given_again():
    named = blocks(fc1=nn.Linear(6, 5), l2=nn.ReLU(), fc2=nn.Linear(5, 4), readout=nn.ReLU(), out=nn.Linear(4, 2))
    assert [block.name for block in named.layers] == ["l2", "l3"]


def test_the_outputs_are_the_readout_or_else_the_last_neurons():
    assert blocks(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2)).classes == 2
    last = blocks(nn.Linear(6, 5), nn.ReLU(), nn.Dropout())
    assert last.readout is None and last.classes == 5
    assert last.readout_module().weight.diag().eq(1).all()


@pytest.mark.parametrize(
    ("modules", "sentence"),
    [
        ([nn.Linear(6, 5)], "neither nn.ReLU nor a spiking neuron"),
        ([nn.ReLU(), nn.Linear(6, 5)], r"layer '0' \(ReLU\): it has no nn.Linear or nn.Conv2d before it"),
        ([nn.Linear(6, 5), nn.ReLU(), nn.ReLU()], r"layer '2' \(ReLU\): it has no nn.Linear"),
    ],
)
def test_neurons_without_a_linear_layer_are_refused(modules, sentence):
    with pytest.raises(BadArgument, match=sentence):
        blocks(*modules)


def test_a_network_that_ends_in_a_convolution_is_refused():
    with pytest.raises(BadArgument, match=r"layer '2' \(Conv2d\): the network must end in nn.Linear"):
        blocks(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 3), shape=(1, 8, 8))
