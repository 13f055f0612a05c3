"""The residual curves: the largest and the median over the samples, step by step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib import pyplot

import fsnn_lava as fl
from tests.helpers.chip_networks import dense_network


@pytest.fixture(autouse=True)
def _closed():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def test_the_largest_and_the_median_residual_of_a_float_run_are_drawn():
    torch.manual_seed(0)
    net = fl.FSNN("6 (F6)", input_shape=(5,), classes=2).eval()
    trace = net.simulate(torch.rand(3, 5), steps=4, residuals=True)
    largest, median, _ = fl.plot.residual(trace).lines
    kept = torch.stack(trace.residuals).numpy()  # [T, B]
    np.testing.assert_array_equal(largest.get_ydata(), kept.max(axis=1))
    np.testing.assert_array_equal(median.get_ydata(), np.median(kept, axis=1))


def test_a_run_in_integers_is_drawn_if_it_kept_its_residuals():
    chip, pixels = dense_network(4), np.full((2, 7), 9, np.uint8)
    result = fl.run(chip, pixels, residual=True)
    assert result.residual is not None
    np.testing.assert_array_equal(fl.plot.residual(result).lines[0].get_ydata(), result.residual.max(axis=0))
    with pytest.raises(fl.BadArgument, match="residual=True"):
        fl.plot.residual(fl.run(chip, pixels))
    net = fl.FSNN("6 (F6)", input_shape=(5,), classes=2).eval()
    with pytest.raises(fl.BadArgument, match="residuals=True"):
        fl.plot.residual(net.simulate(torch.rand(3, 5)))
