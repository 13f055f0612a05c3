"""NeuroBench's metrics against counts of their own."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.placement.neurobench import connection_sparsity, footprint, workload_metrics
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_simulator import simulate


def test_the_metrics_are_the_runs_own_counts():
    chip = dense_network(seed=3)
    values = np.random.default_rng(0).integers(0, 256, (4, 7), dtype=np.uint8)
    result = simulate(chip, values)
    found = workload_metrics(chip, result)
    spikes = sum(int(c.sum()) for c in result.counts) / 4
    assert spikes > 0
    assert found["spikes"] == spikes
    assert (found["synaptic_operations"], found["membrane_updates"]) == (result.operations.mean(), result.updates.mean())
    assert found["activation_sparsity"] == pytest.approx(1 - spikes / (5 * result.steps))
    json.dumps(found)


def test_neurobench_names_are_all_there():
    chip = conv_network(seed=1)
    values = np.random.default_rng(0).integers(0, 256, (2, 2, 6, 8), dtype=np.uint8)
    names = {"footprint", "connection_sparsity", "activation_sparsity", "synaptic_operations", "membrane_updates"}
    assert names <= set(workload_metrics(chip, simulate(chip, values)))


def test_footprint_counts_kernels_once_and_24_bit_state():
    chip = dense_network()
    # weights 5x7, 5x5, 3x5; a bias and a potential for 5 + 3 neurons, one threshold, three bytes each
    assert footprint(chip) == 35 + 25 + 15 + 3 * (2 * 8 + 1)


def test_connection_sparsity_is_the_share_of_zero_weights():
    chip = dense_network()
    zeros = sum(int((s.weight == 0).sum()) for s in chip.synapses) + int((chip.readout.weight == 0).sum())
    assert connection_sparsity(chip) == pytest.approx(zeros / 75)


def test_a_result_of_another_network_is_refused():
    values = np.zeros((1, 7), dtype=np.uint8)
    result = simulate(dense_network(seed=1), values)
    with pytest.raises(BadArgument, match="belongs to another network"):
        workload_metrics(dense_network(seed=2), result)
