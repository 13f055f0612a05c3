"""How dead bands and steps are chosen: by their effect on the equilibrium of calibration data."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument
from fsnn_lava.quantisation.dead_band import BANDS, DeadBandSearch, checked_bands, rate_coding_error
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.quantise import quantise_in_full
from fsnn_lava.running.run import run


@pytest.fixture(scope="module")
def net() -> fl.FSNN:
    torch.manual_seed(0)
    normalisation = fl.Normalisation(mean=(0.5,), std=(0.25,))
    return fl.FSNN(
        "6C3-4C3s (F6C3u)", input_shape=(1, 6, 6), classes=3, norm="operator", vth=1.0, steps=20, normalisation=normalisation
    ).eval()


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (6, 1, 6, 6), dtype=np.uint8)


def test_one_dead_band_is_for_all_layers_and_several_are_one_each():
    assert checked_bands(None, 2) is None
    assert checked_bands(0.1, 2) == (0.1, 0.1)
    assert checked_bands([0.1, 0.2], 2) == (0.1, 0.2)


@pytest.mark.parametrize("wanted", [0.0, -0.1, 1.5, [0.1, 0.1, 0.1], float("nan")])
def test_other_dead_bands_are_refused(wanted):
    with pytest.raises(BadArgument, match="dead_band must be a number above 0 and at most 1"):
        checked_bands(wanted, 2)


def test_the_float_runs_of_the_search_are_those_of_the_emulator(net, values):
    """Up to the rounding of rates to 2**-q: floors of up to one unit, which a gain below 1 amplifies to a few."""
    chip = fl.quantise(net, encoding="delta", dead_band=0.2, steps=4, calibration=values)
    search = DeadBandSearch(chip, values)
    assert chip.delta is not None
    expected = search.errors(chip.delta.shares(), 4)
    found = [search.error(run(chip, values, steps=steps).rates) for steps in range(1, 5)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=8 / chip.delta.one)


def test_chosen_rates_are_no_further_from_the_equilibrium_than_those_of_spikes(net, values):
    made = quantise_in_full(net, encoding="delta", calibration=values)
    chip = made.chip
    assert chip.delta is not None
    search = DeadBandSearch(chip, values)
    most = rate_coding_error(fold(net), values)
    assert search.errors(chip.delta.shares(), chip.steps)[-1] <= most + 2 / chip.delta.one
    larger = [min([b for b in BANDS if b > share + 0.5 / chip.delta.one], default=1.0) for share in chip.delta.shares()]
    assert min(search.errors(larger, search.last)[search.least - 1 :]) > most


def test_steps_are_counted_until_the_error_no_longer_falls(net, values):
    chip = fl.quantise(net, encoding="delta", dead_band=0.02, calibration=values)
    search = DeadBandSearch(chip, values)
    assert chip.delta is not None and chip.steps >= search.least
    errors = search.errors((0.02, 0.02), search.last)
    assert errors[chip.steps - 1] <= 1.05 * errors[-1]
    assert chip.steps == search.least or errors[chip.steps - 2] > 1.05 * errors[-1]


def test_every_connection_is_used_before_a_run_may_end(net, values):
    """Two layers and feedback over both: the first change that went around the loop arrives in step 3."""
    assert DeadBandSearch(fl.quantise(net, encoding="delta", dead_band=0.5, calibration=values), values).least == 3
