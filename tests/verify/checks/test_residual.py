"""The residual check: which sample is named, means, and the points of the scatter plot."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fsnn_lava.verify.checks.residual import SCATTER_KEPT, ResidualCheck
from fsnn_lava.verify.equilibrium import Equilibria
from fsnn_lava.verify.thresholds import Thresholds
from tests.helpers.chip_networks import conv_network, dense_network
from tests.verify.bounds.test_arrived_charge import run_batch


def off_by(rates, layer, sample, by):
    """The rates, with the first neuron of a layer off in one sample."""
    moved = [rate.copy() for rate in rates]
    moved[layer][sample].reshape(-1)[0] += by
    return tuple(moved)


def test_the_sample_that_is_too_far_from_its_equilibrium_is_named():
    """Two layers, three samples; only in the third a neuron is 1/2 from a* (rates are sixteenths: exactly). The limit itself is kept."""
    chip = conv_network(1)
    batch = run_batch(chip, 3)
    for limit, samples in ((0.25, [12]), (0.5, [])):
        check = ResidualCheck(chip, SimpleNamespace(certified=False), Thresholds(distance_max=limit))
        check.add_equilibria(batch, Equilibria(off_by(batch.rates, 0, 2, 0.5), np.zeros(3)))
        assert [o["sample"] for o in check.offenders] == samples
        assert (check.too_far, check.distances_missed) == (0, len(samples))
        assert check.check().mark == ("MISS" if samples else "ok")


def test_a_sample_without_an_equilibrium_has_no_distance():
    """In the second of three samples the solver stopped far from a fixed point, and the rates are far from where it stopped."""
    chip = conv_network(1)
    batch = run_batch(chip, 3)
    check = ResidualCheck(chip, SimpleNamespace(certified=False), Thresholds(distance_max=0.25))
    check.add_equilibria(batch, Equilibria(off_by(batch.rates, 0, 1, 0.5), np.array([0.0, 1e-3, 0.0])))
    assert (check.solved, check.distance, check.offenders) == (2, 0.0, [])
    none = ResidualCheck(chip, SimpleNamespace(certified=False), Thresholds(distance_max=0.25))
    none.add_equilibria(batch, Equilibria(batch.rates, np.full(3, 1e-3)))
    assert none.distance is None and "no equilibrium was solved for" in none.check().missed[0]


@pytest.mark.parametrize(("size", "samples"), [(1, 1), (5, 4)])
def test_means_are_over_all_neurons_of_all_samples(size, samples):
    """One neuron of one sample has a residual of 1/2 and is 1/4 from a*; all others have none."""
    chip = dense_network(1, size=size)
    check, batch = ResidualCheck(chip, SimpleNamespace(certified=False), Thresholds()), run_batch(chip, samples)
    check.add(batch, off_by(batch.rates, 0, 0, 0.5))
    check.add_equilibria(batch, Equilibria(off_by(batch.rates, 0, 0, 0.25), np.zeros(samples)))
    layer = check.check().numbers["layers"][0]
    assert layer["residual_mean"] == pytest.approx(0.5 / (samples * size))
    assert layer["distance_mean"] == pytest.approx(0.25 / (samples * size))


def test_the_scatter_plot_has_at_most_the_stated_number_of_points():
    """Two layers of 600 neurons: three samples are 3600 points; of the fourth every third, 200 of each layer, fit into 4000."""
    check = ResidualCheck(conv_network(1), SimpleNamespace(certified=False), Thresholds())
    rates = (np.zeros((1, 600)), np.ones((1, 600)))
    kept = []
    for _ in range(5):
        check._scatter(rates, rates)
        kept.append(len(check.scatter))
    assert kept == [1200, 2400, 3600, SCATTER_KEPT, SCATTER_KEPT]
    assert check.scatter[0] == [0, 0.0, 0.0] and check.scatter[-1] == [1, 1.0, 1.0]
