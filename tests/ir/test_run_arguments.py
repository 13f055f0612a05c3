"""Arguments of a run, checked before anything runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.run_arguments import check_values_argument, checked_steps
from tests.helpers.chip_networks import dense_network


def test_steps_are_the_networks_own_unless_given_and_at_most_what_16_bits_count():
    chip = dense_network(1)
    assert [checked_steps(chip, steps) for steps in (None, 1, 65535)] == [20, 1, 65535]
    for steps in (0, 65536, 3.5, "3", True):
        with pytest.raises(BadArgument, match=f"steps must be an integer between 1 and 65535, got {steps!r}"):
            checked_steps(chip, steps)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[1] * 7], r"values must be raw uint8 \[B, 7\] for this network \(input kind 'pixels'\), got list"),
        (torch.zeros(2, 7), r"got Tensor; pass values\.numpy\(\)"),
        (np.zeros((2, 7)), "the network does the normalisation itself.*, got float64"),
        (np.zeros((2, 6), np.uint8), r"got shape \(2, 6\)"),
        (np.zeros((0, 7), np.uint8), "with at least one sample, got none"),
    ],
)
def test_values_of_another_form_are_refused(values, sentence):
    with pytest.raises(BadArgument, match=sentence):
        check_values_argument(dense_network(1), values, 20)


def test_events_need_as_many_steps_as_the_run():
    chip = dense_network(1, kind="events")
    check_values_argument(chip, np.zeros((1, 20, 7), np.uint8), 20)
    with pytest.raises(BadArgument, match=r"raw uint8 \[B, 21, 7\] .*'events', 21 steps\), got shape \(1, 20, 7\)"):
        check_values_argument(chip, np.zeros((1, 20, 7), np.uint8), 21)


def test_a_float_network_is_not_a_network_in_integers():
    net, values = fl.FSNN("6 (F6)", input_shape=(7,), classes=2), np.zeros((1, 7), np.uint8)
    result = fl.run(dense_network(1), values)
    for call in (lambda: fl.run(net, values), lambda: fl.compare(result, net, values), lambda: fl.place(net)):
        with pytest.raises(BadArgument, match=r"chip must be a ChipNetwork, got FSNN; make one with quantise\(net\)"):
            call()
    with pytest.raises(BadArgument, match="result must be the Result of a run, got ndarray"):
        fl.compare(values, dense_network(1), values)
