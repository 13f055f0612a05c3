"""mask * (W s + bias), with a bias per channel or per neuron."""

from __future__ import annotations

import torch

from fsnn_lava.nn.current import Current
from fsnn_lava.nn.operators import Convolution

OPERATOR = Convolution(in_shape=(2, 4, 3), channels=5, kernel=(3, 3), padding=(1, 1))


def test_a_bias_per_channel_is_one_for_all_places_and_one_per_neuron_is_not():
    torch.manual_seed(0)
    weight, spikes = torch.randn(5, 2, 3, 3), torch.randint(0, 2, (6, 2, 4, 3)).float()
    plain = torch.nn.functional.conv2d(spikes, weight, padding=1)
    channel, neuron = torch.randn(5), torch.randn(5, 4, 3)
    torch.testing.assert_close(Current(operator=OPERATOR, weight=weight, bias=channel)(spikes), plain + channel.view(5, 1, 1))
    torch.testing.assert_close(Current(operator=OPERATOR, weight=weight, bias=neuron)(spikes), plain + neuron)


def test_the_mask_acts_on_the_bias_too_and_is_split_with_the_batch():
    torch.manual_seed(1)
    mask, spikes = torch.randint(0, 2, (6, 5, 4, 3)) * 2.0, torch.randint(0, 2, (6, 2, 4, 3)).float()
    current = Current(operator=OPERATOR, weight=torch.randn(5, 2, 3, 3), bias=torch.randn(5), mask=mask)
    whole = current(spikes)
    assert not whole[mask == 0].any()
    torch.testing.assert_close(current.part(slice(2, 5))(spikes[2:5]), whole[2:5])
