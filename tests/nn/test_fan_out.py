"""Outgoing synapses of every neuron, against a count of every weight that its spike reaches."""

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.nn.fan_out import fan_out, operations_by_fan_out, synapses_per_source
from fsnn_lava.nn.operators import Convolution, Dense, TransposedConvolution

OPERATORS = [
    Dense(in_shape=(3, 2), channels=5),
    Convolution(in_shape=(2, 5, 4), channels=3, kernel=(3, 3), stride=(2, 1), padding=(1, 0)),
    Convolution(in_shape=(4, 5, 5), channels=4, kernel=(3, 3), padding=(1, 1), groups=2),
    TransposedConvolution(in_shape=(2, 3, 3), channels=3, kernel=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1)),
]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.kind)
def test_synapses_are_the_weights_that_a_single_spike_reaches(operator):
    weight = torch.rand(operator.weight_shape, dtype=torch.float64) + 0.5  # positive: no two of them cancel
    found = synapses_per_source(operator, weight)
    assert found.shape == operator.in_shape
    for index in range(found.numel()):
        spike = torch.zeros(1, found.numel(), dtype=torch.float64)
        spike[0, index] = 1
        reached = operator.apply(weight, spike.view(1, *operator.in_shape)) != 0
        assert int(found.flatten()[index]) == int(reached.sum())


def test_every_connection_of_a_layer_counts_and_borders_have_fewer():
    net = fl.FSNN("2C3-3C3 (F2C3)", input_shape=(1, 4, 4), classes=5)
    inner, last = fan_out(net)
    places = torch.tensor([[4, 6, 6, 4], [6, 9, 9, 6], [6, 9, 9, 6], [4, 6, 6, 4]])  # 3 x 3 around each pixel, inside the image
    assert torch.equal(inner, (3 * places).expand(2, 4, 4))
    assert torch.equal(last, (2 * places + 5).expand(3, 4, 4))
    assert fan_out(fl.FSNN("6-4", input_shape=(3,), classes=2))[1].tolist() == [2.0] * 4


def test_pooling_counts_with_the_convolution_before_it():
    net = fl.FSNN("2C3-3C3-P2", input_shape=(1, 4, 4), classes=5)  # 3C3 after it is pooled: one kernel of 4 x 4 and stride 2
    assert fan_out(net)[0][0].tolist() == [[3.0 * r * c for c in (1, 2, 2, 1)] for r in (1, 2, 2, 1)]


def test_expected_operations_weigh_every_rate_by_its_synapses():
    rates = (torch.tensor([[0.5, 0.25], [0.0, 1.0]]), torch.tensor([[1.0], [0.5]]))
    assert operations_by_fan_out(rates, (torch.tensor([4.0, 8.0]), torch.tensor([10.0]))).tolist() == [14.0, 13.0]
