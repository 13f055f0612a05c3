"""Which samples are examined: by their numbers alone, however the run is cut into batches, and within a share of its work."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.ir.network import TransposedConvSynapse
from fsnn_lava.verify.sampling import (
    ACTIVITY,
    FIRST_WORK,
    SHARE,
    SLOPE_SAMPLES,
    Sampling,
    affordable,
    multiplications_per_sample,
    slope_samples,
)
from tests.helpers.chip_networks import conv_network, dense_network


def chosen(sampling, samples, batch):
    return [first + int(row) for first in range(0, samples, batch) for row in sampling.rows(first, min(batch, samples - first))]


@pytest.mark.parametrize("batch", [1, 7, 64, 1000])
def test_the_choice_does_not_depend_on_the_batches(batch):
    assert chosen(Sampling(3, 10, 6), 100, batch) == [0, 1, 2, 10, 20]  # 0, 10 and 20 are the three multiples
    assert chosen(Sampling(3, 10), 50, batch) == [0, 1, 2, 10, 20, 30, 40]
    assert chosen(Sampling(4), 50, batch) == [0, 1, 2, 3]
    assert chosen(Sampling(0), 50, batch) == []


def test_in_a_long_run_the_samples_take_their_share_of_its_work():
    """60 passes each, beside 3 of a run of 30 steps: one in 200 takes a tenth."""
    sampling = affordable(dense_network(1, size=100, inputs=7), 30, passes=60)
    assert sampling.every == 200
    assert 60 / sampling.every == pytest.approx(SHARE * ACTIVITY * 30)


def test_calling_the_functions_of_a_pass_counts_for_later_samples_not_for_the_first():
    """10,000 multiplications and an overhead of 30,000: four times as rare."""
    chip = dense_network(1, size=100, inputs=7)
    plain, slow = (affordable(chip, 30, passes=60, overhead=overhead) for overhead in (0.0, 3e4))
    assert (slow.first, slow.every) == (plain.first, 4 * plain.every)


def test_the_first_samples_take_a_fixed_amount_of_work_but_there_is_at_least_one():
    chip = dense_network(1, size=100, inputs=7)
    assert affordable(chip, 30, passes=1000).first == FIRST_WORK / (1000 * 100 * 100) == 50
    assert affordable(chip, 30, passes=1000, most=20).first == 20
    assert affordable(chip, 30, passes=1000, first_most=10).first == 10
    assert affordable(chip, 30, passes=1e9).first == 1
    assert affordable(chip, 30, passes=1e9, least=2).first == 2


def test_the_work_of_one_pass_counts_the_synapses_between_layers():
    """Input synapses are multiplied once, not in every evaluation: 5 x 5 of the feedback are left; a kernel is used at every place."""
    assert multiplications_per_sample(dense_network(1, size=5, inputs=7)) == 25
    chip = conv_network(1)
    between = [synapse for synapse in chip.synapses if synapse.source != "input"]
    places = [chip.layer(s.source if isinstance(s, TransposedConvSynapse) else s.target).shape[1:] for s in between]
    assert multiplications_per_sample(chip) == sum(s.weight.size * int(np.prod(place)) for s, place in zip(between, places))


def test_the_slope_is_measured_on_first_samples_only_and_on_fewer_of_a_large_network():
    assert slope_samples(dense_network(1, size=100, inputs=7), 30) == Sampling(SLOPE_SAMPLES)
    assert slope_samples(dense_network(1, size=5000, inputs=1), 30) == Sampling(FIRST_WORK // (5 * 5000**2)) == Sampling(4)
