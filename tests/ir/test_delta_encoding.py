"""What a ChipNetwork with delta encoding must consist of (E15), its digest and its summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fsnn_lava
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.delta_encoding import delta_frame_exponent
from fsnn_lava.ir.network import ChipNetwork, DeltaEncoding
from tests.helpers.naive_delta import random_delta_network
from tests.helpers.strategies import random_network


def network() -> ChipNetwork:
    return random_delta_network(np.random.default_rng(1), layers=2)


@pytest.mark.parametrize("bits", [5, 13])
def test_rate_bits_outside_their_range_are_refused(bits):
    with pytest.raises(BadNetwork, match=f"rate_bits must be between 6 and 12, got {bits}"):
        DeltaEncoding(rate_bits=bits, dead_bands=(1,))


@pytest.mark.parametrize("band", [0, 65])
def test_a_dead_band_is_at_least_one_unit_and_at_most_a_rate_of_one(band):
    with pytest.raises(BadNetwork, match=r"every dead band must be between 1 and 64"):
        DeltaEncoding(rate_bits=6, dead_bands=(band,))


def test_dead_bands_in_spikes_per_step():
    assert DeltaEncoding(rate_bits=6, dead_bands=(16, 64)).shares() == (0.25, 1.0)


def test_rates_are_clipped_at_one_unless_they_are_relus():
    clipped = DeltaEncoding(rate_bits=6, dead_bands=(16,))
    relu = replace(clipped, activation="relu")
    assert (clipped.ceiling, clipped.rate_max) == (64, 1.0)
    assert (relu.ceiling, relu.rate_max) == (2**15 - 1, (2**15 - 1) / 64)
    with pytest.raises(BadNetwork, match="activation must be 'clip' or 'relu', got 'tanh'"):
        replace(clipped, activation="tanh")


def test_every_layer_needs_a_dead_band():
    with pytest.raises(BadNetwork, match=r"one dead band per layer \(2\)"):
        replace(network(), delta=DeltaEncoding(rate_bits=8, dead_bands=(3,)))


def test_a_threshold_that_is_not_a_power_of_two_is_refused():
    chip = network()
    layer = replace(chip.layers[0], threshold=np.array(96))
    with pytest.raises(BadNetwork, match="threshold must be a power of two, got 96"):
        replace(chip, layers=(layer, chip.layers[1]))


def test_a_shift_to_the_right_is_refused_except_for_the_input():
    chip = network()
    inner = next(s for s in chip.synapses if s.source != "input")
    with pytest.raises(BadNetwork, match="exponent must be at least 0, since a shifted sum is not a sum of shifts; got -1"):
        replace(chip, synapses=tuple(replace(s, exponent=-1) if s is inner else s for s in chip.synapses))
    with pytest.raises(BadNetwork, match="readout: with delta encoding the exponent must be at least 0"):
        replace(chip, readout=replace(chip.readout, exponent=-1))


def test_a_leak_and_a_reset_to_zero_are_refused():
    chip = network()
    with pytest.raises(BadNetwork, match="every decay must be 0"):
        replace(chip, layers=tuple(replace(layer, decay=7) for layer in chip.layers), readout=replace(chip.readout, decay=7))
    with pytest.raises(BadNetwork, match="has neither a reset nor a strict threshold"):
        replace(chip, layers=tuple(replace(layer, reset="zero") for layer in chip.layers))


@pytest.mark.parametrize("steps", [1, 7, 30, 4096])
@pytest.mark.parametrize("decay", [0, 205])
def test_the_weights_of_frames_add_up_exactly_and_are_those_of_the_leak(steps, decay):
    weights = DeltaEncoding(rate_bits=8, dead_bands=(1,), frame_decay=decay).frame_weights(steps)
    exact = (1 - decay / 4096) ** np.arange(steps - 1, -1, -1)
    assert weights.sum() == 4096 and len(weights) == steps
    assert np.abs(weights / 4096 - exact / exact.sum()).max() <= 1 / 4096


def test_frames_that_cannot_be_weighted_are_refused():
    delta = DeltaEncoding(rate_bits=8, dead_bands=(1,))
    with pytest.raises(BadArgument, match="at most 4096 frames of events, got 4097"):
        delta.frame_weights(4097)
    with pytest.raises(BadNetwork, match="frame_decay must be between 0 and 4095"):
        replace(delta, frame_decay=4096)
    with pytest.raises(BadNetwork, match="frame_decay must be 0 without event input"):
        replace(network(), delta=DeltaEncoding(rate_bits=8, dead_bands=(3, 3), frame_decay=1))


def test_the_exponent_of_the_frames_of_a_layer_is_its_finest():
    chip = random_network(np.random.default_rng(0), layers=1, kind="events", decay=0)
    inward = next(s for s in chip.synapses if s.source == "input")
    assert delta_frame_exponent(replace(chip, synapses=(*chip.synapses, replace(inward, exponent=-20))), chip.layers[0]) == -20
    assert delta_frame_exponent(network(), network().layers[1]) == 0  # which only other layers enter


def test_the_digest_covers_the_encoding_and_rate_networks_keep_theirs():
    chip = network()
    assert chip.delta is not None
    digests = {
        chip.digest(),
        replace(chip, delta=None).digest(),
        replace(chip, delta=replace(chip.delta, dead_bands=(31, 32))).digest(),
        replace(chip, delta=replace(chip.delta, rate_bits=12 if chip.delta.rate_bits < 12 else 11)).digest(),
    }
    assert len(digests) == 4
    framed = replace(random_network(np.random.default_rng(0), layers=1, kind="events", decay=0), delta=None)
    layers = tuple(replace(layer, threshold=np.array(8), reset="subtract", strict=False) for layer in framed.layers)
    synapses = tuple(replace(s, exponent=0) for s in framed.synapses)
    framed = replace(framed, layers=layers, synapses=synapses, readout=replace(framed.readout, exponent=0))
    encodings = (DeltaEncoding(rate_bits=8, dead_bands=(1,), frame_decay=decay) for decay in (0, 1))
    assert len({replace(framed, delta=encoding).digest() for encoding in encodings}) == 2
    shipped = Path(fsnn_lava.__file__).parent / "models" / "digits.h5"  # written before there was delta encoding
    assert ChipNetwork.load(shipped).encoding == "rate"  # its digest is compared with the one in the file


def test_the_summary_names_encoding_and_dead_bands():
    chip = replace(network(), delta=DeltaEncoding(rate_bits=6, dead_bands=(16, 3)))
    assert chip.encoding == "delta" and replace(chip, delta=None).encoding == "rate"
    assert "delta encoding" in repr(chip)
    assert "dead band 0.25 (16 of 64)" in str(chip)
