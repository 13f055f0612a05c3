"""Layers in integers for delta encoding (E15): powers of two, no shift to the right, room for the sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.limits import RATE_BITS, STATE_MAX
from fsnn_lava.quantisation.delta_rounding import RATE_BITS_WANTED, delta_readout_rate_bits, round_delta_readout
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.quantise import quantise_in_full
from fsnn_lava.running.run import run
from fsnn_lava.verify.comparator import compare
from fsnn_lava.verify.rounded_parameters import rounded_parameter_errors

ARCHITECTURES = ("5 (F5)", "6C3-4C3s (F6C3u)", "4C3s-7 (F7)")


def network(architecture: str, *, neuron: object = None) -> fl.FSNN:
    torch.manual_seed(1)
    normalisation = fl.Normalisation(mean=(0.4,), std=(0.3,))
    options = {} if neuron is None else {"neuron": neuron}
    return fl.FSNN(architecture, input_shape=(1, 6, 6), classes=3, norm="operator", vth=1.5, normalisation=normalisation, **options).eval()  # type: ignore[arg-type]


def pixels(samples: int = 8) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (samples, 1, 6, 6), dtype=np.uint8)


@pytest.mark.parametrize("architecture", ["5 (F5)", "6C3-4C3s (F6C3u)"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("kind", ["pixels", "current"])
def test_every_integer_is_the_rounding_of_its_float_and_the_run_is_faithful(architecture, bits, kind):
    net = network(architecture)
    chip = fl.quantise(net, bits=bits, input=kind, encoding="delta", dead_band=0.05, calibration=pixels())
    assert rounded_parameter_errors(chip, fold(net)).wrong == []
    verdict = compare(run(chip, pixels()), chip, pixels(), model=net)
    assert verdict.passed, verdict.to_text()
    assert chip.host_drive is None or kind == "current"


@pytest.mark.parametrize(("neuron", "decay"), [(fl.IF(), 0), (fl.LIF(0.95), 205)])
def test_frames_of_events_keep_the_weights_of_the_leak(neuron, decay):
    net = network("6C3-4C3s (F6C3u)", neuron=neuron)
    events = (np.random.default_rng(5).random((4, 9, 1, 6, 6)) < 0.3).astype(np.uint8)
    chip = fl.quantise(net, encoding="delta", dead_band=0.02, calibration=events)
    assert chip.delta is not None and chip.delta.frame_decay == decay and chip.steps == 9
    shares = (1 - decay / 4096) ** np.arange(8, -1, -1)
    average = np.einsum("t,bt...->b...", shares / shares.sum(), events)
    inward = next(s for s in chip.synapses if s.source == "input")
    exact = RateMap(chip).apply_synapse(inward, average) + chip.layers[0].bias
    most = 2.0**-12 * 9 * float(np.abs(inward.weight.astype(int)).sum(axis=(1, 2, 3)).max()) * 2.0**inward.exponent
    np.testing.assert_allclose(RateMap(chip).drive(events)[0], exact, rtol=0, atol=most)
    verdict = compare(run(chip, events), chip, events, model=net)
    assert verdict.faithful, verdict.to_text()


def test_the_dead_band_of_an_event_network_is_chosen_for_all_its_frames():
    events = (np.random.default_rng(6).random((4, 9, 1, 6, 6)) < 0.3).astype(np.uint8)
    chip = fl.quantise(network("5 (F5)"), encoding="delta", calibration=events)
    assert chip.steps == 9 and chip.delta is not None and 0 < max(chip.delta.shares()) < 1


def test_thresholds_are_powers_of_two_and_the_finest_connection_has_exponent_0():
    chip = fl.quantise(network("6C3-4C3s (F6C3u)"), encoding="delta", dead_band=0.1, calibration=pixels())
    for layer in chip.layers:
        assert int(layer.threshold).bit_count() == 1
        assert layer.scale == 1.5 / int(layer.threshold)
    assert min(s.exponent for s in chip.synapses if s.source != "input") == 0


def test_the_leak_of_a_trained_network_has_no_effect():
    net = network("5 (F5)", neuron=fl.LIF(0.9))
    chip = fl.quantise(net, encoding="delta", dead_band=0.1, calibration=pixels())
    assert chip.decay == 0 and chip.readout.decay == 0


def test_small_dead_bands_reach_the_equilibrium_of_the_float_network():
    """E16: silent rates are within (1 - L)^-1 (dead band + rounding) of a*, and L of this network is below 1."""
    net = network("5 (F5)")
    made = quantise_in_full(net, encoding="delta", dead_band=0.01, steps=60, calibration=pixels())
    result = run(made.chip, pixels())
    assert made.gain_after < 1.0 and made.chip.delta is not None and result.messages is not None
    assert not result.messages[:, -2:].any()
    star = RateMap(made.chip).solve(pixels()).rates[0]
    most = np.sqrt(5) * (made.chip.delta.shares()[0] + 1 / made.chip.delta.one) / (1 - made.gain_after)
    assert np.linalg.norm(result.rates[0] - star, axis=1).max() <= most


def test_sums_of_the_calibration_data_have_twice_the_room():
    made = quantise_in_full(network("6C3-4C3s (F6C3u)"), encoding="delta", dead_band=0.1, calibration=pixels())
    result = run(made.chip, made.calibration)
    assert max(int(np.abs(sums).max()) for sums in result.potentials) <= (2**23 - 1) / 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"encoding": "spikes"}, "encoding must be 'rate' or 'delta', got 'spikes'"),
        ({"dead_band": 0.1}, "dead_band only applies to encoding 'delta'"),
        ({"encoding": "delta", "reset": "zero"}, "leave out reset and per_channel"),
        ({"encoding": "delta", "per_channel": True}, "leave out reset and per_channel"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, sentence):
    with pytest.raises(BadArgument, match=sentence):
        fl.quantise(network("5 (F5)"), **options)


@pytest.mark.parametrize("neurons", [10, 300, 2000])
def test_the_logits_of_the_calibration_data_fit_the_state_twice(neurons):
    draw = np.random.default_rng(0)
    weight, rates = draw.uniform(0.2, 1.0, (3, neurons)), draw.uniform(0.0, 1.0, (5, neurons))
    readout = round_delta_readout(weight, np.ones(3), rates, bits=8)
    logits = rates @ readout.weight.T + readout.bias
    bits = delta_readout_rate_bits(readout, rates)
    assert bits >= RATE_BITS[0]
    assert 1.98 * np.abs(logits).max() * 2.0**bits <= STATE_MAX < 4 * np.abs(logits).max() * 2.0**bits
    assert logits * readout.scale == pytest.approx(rates @ weight.T + 1, rel=0.02)


def test_a_readout_whose_weights_would_be_nearly_zero_is_refused():
    draw = np.random.default_rng(0)
    with pytest.raises(BadNetwork, match="the sums of the readout exceed 24 bits"):
        round_delta_readout(draw.uniform(0.2, 1.0, (3, 50000)), np.ones(3), draw.uniform(0.0, 1.0, (5, 50000)), bits=8)


def test_a_large_readout_takes_bits_from_the_messages():
    torch.manual_seed(1)
    net = fl.FSNN("2C3 (F2C3)", input_shape=(1, 24, 24), classes=3, vth=1.5).eval()
    with torch.no_grad():
        net.stages[0].norm.bias.fill_(0.9)
        net.readout.weight.abs_()
    values = np.random.default_rng(3).integers(0, 256, (8, 1, 24, 24), dtype=np.uint8)
    chip = fl.quantise(net, encoding="delta", dead_band=0.1, calibration=values)
    assert chip.delta is not None and chip.delta.rate_bits < RATE_BITS_WANTED
    assert run(chip, values).clip_count.sum() == 0
    finer = replace(chip, delta=replace(chip.delta, rate_bits=RATE_BITS_WANTED, dead_bands=(102,)))
    assert run(finer, values).clip_count[:, -1].sum() > 0
