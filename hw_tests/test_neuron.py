"""One neuron, with every number worked out by hand, in units of 2**-6 weight units."""

from __future__ import annotations

import numpy as np
import pytest

from hw_tests.networks import STOCK_LIF, one_neuron


def pixel(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint8).reshape(-1, 1)


def test_if_with_reset_by_subtraction(target):
    # 192 per step, threshold 640: 192 384 576 768->128 320 512 704->64 256
    result = target.run(one_neuron(threshold=10), pixel(3))
    assert result.counts[0].item() == 2
    assert result.potentials[0].item() == 256
    assert result.readout.tolist() == [[2 * 64, 8 * 2 * 64 - 2 * 3 * 64]]


def test_a_neuron_that_reaches_its_threshold_exactly_spikes(target):
    # 320 per step, threshold 640: 320 640->0 320 640->0 …
    result = target.run(one_neuron(threshold=10), pixel(5))
    assert (result.counts[0].item(), result.potentials[0].item()) == (4, 0)


def test_a_strict_neuron_that_is_reset_to_zero_waits_one_step_longer(target):
    # 320 640 960->0 320 640 960->0 320 640
    result = target.run(one_neuron(threshold=10, **STOCK_LIF), pixel(5))
    assert (result.counts[0].item(), result.potentials[0].item()) == (2, 640)


def test_a_leaky_neuron_rounds_towards_zero(target):
    # u <- trunc(u 3072 / 4096) + 256: 256 448 592 700->60 301 481 616 718->78
    chip = one_neuron(threshold=10, decay=1024)
    result = target.run(chip, pixel(4))
    assert result.counts[0].item() == 2
    assert abs(result.potentials[0].item() - 78) <= target.rounding(chip)
    assert result.traces[0].item() == pytest.approx(0.75**4 + 1, rel=1e-12)


def test_a_leaky_neuron_that_is_reset_to_zero(target):
    # u <- trunc(u 3072 / 4096) + 256: 256 448 592 700->0 256 448 592 700->0
    result = target.run(one_neuron(threshold=10, decay=1024, **STOCK_LIF), pixel(4))
    assert (result.counts[0].item(), result.potentials[0].item()) == (2, 0)


def test_a_negative_potential_decays_towards_zero_too(target):
    # bias -3: -192 -336 -444 -525 -585, trunc(-393.75) = -393
    chip = one_neuron(threshold=10, decay=1024, bias=-3, steps=5)
    result = target.run(chip, pixel(0))
    assert result.counts[0].item() == 0
    assert abs(result.potentials[0].item() + 585) <= target.rounding(chip)


def test_charge_is_conserved(target):
    # E10: all charge that came in is still there or has left as spikes
    values = pixel(0, 1, 2, 7, 10, 11, 255)
    result = target.run(one_neuron(threshold=10, steps=16), values)
    kept = result.potentials[0].reshape(-1).astype(int) + 640 * result.counts[0].reshape(-1)
    assert kept.tolist() == [16 * 64 * int(value) for value in values.reshape(-1)]
