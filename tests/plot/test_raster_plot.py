"""The raster: one mark per spike, at its step and neuron."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot

import fsnn_lava as fl
from fsnn_lava.backends.emulator.run import Emulator
from tests.helpers.chip_networks import dense_network

CHIP = dense_network(4)
PIXELS = np.random.default_rng(0).integers(0, 256, (3, 7), np.uint8)


@pytest.fixture(autouse=True)
def _closed():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def test_every_spike_has_a_mark_at_its_step_and_neuron():
    result = Emulator(CHIP).run(PIXELS, steps=9, spikes=True)
    assert result.spikes is not None
    train = result.spikes[0][2]  # [T, N]
    drawn = fl.plot.raster(result, 2, layer=0).lines[0].get_xydata()
    assert len(drawn) == train.sum() > 0
    assert all(train[int(step) - 1, int(neuron)] == 1 for step, neuron in drawn)


def test_a_run_without_spike_trains_or_without_that_sample_is_refused():
    with pytest.raises(fl.BadArgument, match="spikes=True"):
        fl.plot.raster(fl.run(CHIP, PIXELS))
    with pytest.raises(fl.BadArgument, match="sample must be between 0 and 2, got 3"):
        fl.plot.raster(fl.run(CHIP, PIXELS, spikes=True), 3)
