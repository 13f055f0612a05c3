"""Figures of rates: the points are the rates themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib import pyplot

import fsnn_lava as fl


@pytest.fixture(autouse=True)
def _closed():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def points(*rates: float) -> fl.Equilibrium:
    return fl.Equilibrium((torch.zeros(1, 2), torch.tensor([rates])), torch.zeros(1), 1, True)


def test_every_rate_is_drawn_against_the_one_it_should_be():
    axes = fl.plot.rates(points(0.25, 0.5, 0.75), points(0.25, 0.375, 0.75))
    np.testing.assert_array_equal(axes.lines[1].get_xydata(), [[0.25, 0.25], [0.375, 0.5], [0.75, 0.75]])
    assert axes.get_title() == "largest difference 0.125"


def test_the_histogram_counts_every_neuron_of_the_layer():
    figure, own = pyplot.subplots()
    axes = fl.plot.rates(points(0.0, 0.5, 1.0), axes=own)
    assert axes is own
    assert sum(bar.get_height() for bar in axes.patches) == 3
    assert sum(bar.get_height() for bar in fl.plot.rates(points(0.5, 0.5), layer=0).patches) == 2
    assert len(figure.axes) == 1


def test_what_has_no_rates_or_other_ones_is_refused():
    with pytest.raises(fl.BadArgument, match="str has no rates to draw"):
        fl.plot.rates("rates")
    with pytest.raises(fl.BadArgument, match="layer must be an integer between -2 and 1, got 2"):
        fl.plot.rates(points(0.5), layer=2)
    with pytest.raises(fl.BadArgument, match="layer must be an integer between -2 and 1, got 'l1'"):
        fl.plot.rates(points(0.5), layer="l1")
    with pytest.raises(fl.BadArgument, match=r"same shape, got \[1, 1\] and \[1, 2\]"):
        fl.plot.rates(points(0.5), points(0.5, 0.5))
