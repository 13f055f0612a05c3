"""From float to integers: ranges, exponents, certificates, headroom, and how far the equilibrium may move."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.nn.network_gains import spectral_radius
from fsnn_lava.quantisation.counterpart import counterpart
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.quantisation.quantisation_report import measure_quantisation
from fsnn_lava.quantisation.quantise import quantise, quantise_in_full
from tests.quantisation.test_fold import NETWORKS, network, raw


def scaled(folded: FoldedNetwork, *, feedback: float = 1.0, forward: float = 1.0) -> FoldedNetwork:
    factors = [forward if folded.is_forward(one) else feedback for one in folded.connections]
    made = tuple(one.with_weight(one.weight * factor) for one, factor in zip(folded.connections, factors, strict=True))
    return replace(folded, connections=made)


def float_weights(folded: FoldedNetwork, chip: ChipNetwork) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(float weight, integers, value of one integer) of every synapse."""
    found = []
    for synapse in chip.synapses:
        connection = counterpart(folded, chip, synapse)
        target = chip.layer(synapse.target)
        scale = np.broadcast_to(target.scale, target.shape[:1]) * 2.0**synapse.exponent
        axes = tuple(i for i in range(synapse.weight.ndim) if i != connection.target_axis)
        found.append((connection.weight.numpy(), synapse.weight.astype(np.int64), np.expand_dims(scale, axes)))
    return found


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("name", NETWORKS)
def test_integers_are_the_rounded_float_network(name, bits, per_channel):
    net = network(name)
    folded, chip = fold(net), quantise(net, bits=bits, per_channel=per_channel)
    top = 2 ** (bits - 1) - 1
    for weight, integers, step in float_weights(folded, chip):
        assert np.abs(integers).max() <= top
        inside = np.abs(weight / step) <= top
        assert np.abs(integers - weight / step)[inside].max() <= 0.5 + 1e-9
        assert np.all(np.sign(integers) * np.sign(weight) >= 0)
    for layer, mine in zip(folded.layers, chip.layers, strict=True):
        scale = mine.per_neuron(mine.scale)
        assert np.abs(mine.bias * scale - layer.bias.numpy()).max() <= 0.5 * scale.max() + 1e-12
        assert np.abs(mine.threshold * mine.scale - layer.vth).max() <= 0.5 * scale.max() + 1e-12


@pytest.mark.parametrize("ratio", [0.01, 0.3, 30.0])
def test_feedback_and_feed_forward_each_use_their_range_whatever_their_ratio(ratio):
    made = quantise_in_full(scaled(fold(network("conv")), feedback=ratio), bits=8)
    assert all(row.range_used > 0.5 for row in measure_quantisation(made).synapses), measure_quantisation(made).synapses
    assert len({synapse.exponent for synapse in made.chip.synapses}) == 2


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "conv then dense"])
def test_the_equilibrium_moves_by_no_more_than_its_bound(name):
    folded = fold(network(name))
    gain = spectral_radius(folded.gains())
    if gain >= 0.9:
        folded = scaled(folded, feedback=(0.9 / gain) ** len(folded.layers))
    found = measure_quantisation(quantise_in_full(folded, bits=5, calibration=raw(network(name), 16).numpy()))
    assert found.certified
    assert found.converged
    for row in found.layers:
        assert row.shift_bound is not None
        assert row.bound_holds
        assert row.shift > 0


def test_more_bits_move_the_equilibrium_less():
    net, images = network("conv"), raw(network("conv"), 16).numpy()
    shifts = [measure_quantisation(quantise_in_full(net, bits=bits, calibration=images)).layers[0].shift for bits in (3, 5, 8)]
    assert shifts[0] > 2 * shifts[1] > 4 * shifts[2]


def test_an_outlier_is_clipped_when_that_is_better_for_the_rates():
    folded = fold(network("conv"))
    entry, back = folded.connections
    weight = back.weight.clone()
    weight[1, 2, 0, 1] = 3.0 * weight.abs().max()
    folded = replace(folded, connections=(entry, back.with_weight(weight)))
    rows = measure_quantisation(quantise_in_full(folded, bits=3, calibration=raw(network("conv"), 16).numpy())).synapses
    assert rows[1].name == "l1 -> l1"
    assert rows[1].clipped > 0


def test_one_unit_per_channel_is_finer_where_channels_differ():
    folded = fold(network("conv"))
    gain = torch.tensor([0.05, 1.0, 0.2, 0.6, 0.1], dtype=torch.float64).view(-1, 1, 1, 1)
    entry = folded.connections[0]
    folded = replace(folded, connections=(entry.with_weight(entry.weight * gain),))
    images = raw(network("conv"), 16).numpy()
    alike, each = (
        measure_quantisation(quantise_in_full(folded, bits=4, per_channel=flag, calibration=images)).layers[0] for flag in (False, True)
    )
    assert each.drive_error < 0.5 * alike.drive_error


def test_a_contraction_that_rounding_breaks_is_projected_back():
    folded = fold(network("conv"))
    edge = scaled(folded, feedback=0.99999 / spectral_radius(folded.gains()))
    found = [quantise_in_full(edge, bits=bits, calibration=raw(network("conv"), 8).numpy()) for bits in (4, 6, 8)]
    assert all(made.gain_before < 1.0 and made.gain_after < 1.0 for made in found)
    assert any(made.shrunk < 1.0 for made in found), "rounding to some number of bits must push the norm over the edge"


def test_a_network_that_is_not_a_contraction_is_left_as_it_is():
    made = quantise_in_full(scaled(fold(network("conv")), feedback=10.0))
    assert made.gain_before > 1.0
    assert made.shrunk == 1.0


@pytest.mark.parametrize("kind", ["pixels", "current"])
def test_integer_rates_follow_the_float_rates(kind):
    net = network("transposed")
    images = raw(net, 8)
    chip = quantise(net, input=kind, calibration=images.numpy())
    assert (chip.host_drive is not None) == (kind == "current")
    mine, theirs = RateMap(chip).solve(images.numpy()), fold(net).solve(images)
    for a, b in zip(mine.rates, theirs.rates, strict=True):
        assert np.abs(a - b.numpy()).mean() < 0.01


def test_a_sequence_makes_an_event_network_of_its_length():
    net = network("conv")
    events = (np.random.default_rng(0).random((6, 7, *net.architecture.input_shape)) < 0.2).astype(np.uint8)
    chip = quantise(net, calibration=events)
    assert chip.input.kind == "events"
    assert chip.steps == 7
    point, exact = RateMap(chip).solve(events), fold(net).solve(torch.from_numpy(events), steps=7)
    assert np.abs(point.rates[0] - exact.rates[0].numpy()).mean() < 0.01


def test_without_options_it_is_8_bits_one_unit_per_layer_and_a_reset_that_subtracts():
    chip = quantise(network("conv"))
    assert chip.digest() == quantise(network("conv"), bits=8, input="pixels", reset="subtract", per_channel=False).digest()
    assert chip.layers[0].threshold.shape == ()
    assert quantise_in_full(network("conv")).chip.digest() == chip.digest()
    assert quantise(network("conv"), per_channel=True).layers[0].threshold.shape == (5,)


def test_leak_steps_reset_and_names_are_carried_over():
    net = network("dense", neuron=fl.LIF(0.95), class_names=("a", "b", "ç"))
    chip = quantise(net, reset="zero", steps=77)
    assert chip.decay == 205  # round(0.05 * 4096)
    assert chip.readout.decay == 205
    assert chip.steps == 77
    assert chip.layers[0].reset == "zero"
    assert chip.class_names == ("a", "b", "ç")
    assert chip.notes["architecture"] == "12 (F12)"


@pytest.mark.parametrize("steps", [5, 1000, 20000])
def test_the_readout_fits_its_state_over_a_whole_run(steps):
    net = network("conv")
    images = raw(net, 8)
    chip = quantise(net, steps=steps, calibration=images.numpy())
    rates = RateMap(chip).solve(images.numpy()).rates[-1].reshape(8, -1)
    final = steps * np.abs(rates @ chip.readout.weight.T.astype(np.float64) * 2.0**chip.readout.exponent + chip.readout.bias)
    assert final.max() < 131071


def test_the_same_network_gives_the_same_integers():
    assert quantise(network("pooled"), bits=6).digest() == quantise(network("pooled"), bits=6).digest()


def test_a_step_that_can_wrap_24_bits_is_refused():
    with pytest.raises(BadNetwork, match="24 bits hold"):
        quantise(scaled(fold(network("conv")), forward=3000.0, feedback=1.0))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bits": 9}, "bits must be an integer between 2 and 8, got 9"),
        ({"bits": 1}, "bits must be an integer between 2 and 8, got 1"),
        ({"reset": "soft"}, "reset must be 'subtract' or 'zero'"),
        ({"bits": "8"}, "bits must be an integer between 2 and 8, got '8'"),
        ({"steps": 0}, "steps must be an integer between 1 and 65535"),
        ({"steps": 3.5}, "steps must be an integer between 1 and 65535, got 3.5"),
        ({"steps": True}, "steps must be an integer between 1 and 65535, got True"),
        ({"bits": 8.0}, "bits must be an integer between 2 and 8, got 8.0"),
        ({"input": "audio"}, "input must be pixels, events or current"),
        ({"calibration": np.zeros((2, 2, 9, 8))}, "dtype uint8, got float64"),
        ({"calibration": np.zeros((2, 9, 8), np.uint8)}, r"calibration must be \[B, 2, 9, 8\]"),
        ({"input": "events", "calibration": np.zeros((2, 2, 9, 8), np.uint8)}, "does not match a calibration batch"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, sentence):
    with pytest.raises(BadArgument, match=sentence):
        quantise(network("conv"), **options)


def trained(images: torch.Tensor, **options) -> fl.FSNN:
    torch.manual_seed(0)
    net = fl.FSNN("6 (F6)", input_shape=(4,), classes=2, **options)
    net(images).sum().backward()
    return net.eval()


def test_a_network_trained_on_floats_without_a_normalisation_is_refused_until_it_has_one(tmp_path):
    images = torch.tensor([[0.0, 0.25, 0.5, 1.0], [1.0, 0.5, 0.25, 0.0]])
    trained(images).save(tmp_path / "model.pt")
    for net in (trained(images), fl.FSNN.load(tmp_path / "model.pt")):
        with pytest.raises(BadArgument, match=r"floats from 0 to 1, .*net\.normalisation = fsnn_lava\.Normalisation\(255\.0\) if"):
            quantise(net)
        net.normalisation = fl.Normalisation(255.0)
        pixels = np.array([[0, 64, 128, 255]], np.uint8)
        # 8 bits: the logits of raw pixels are those of the floats they stand for, far from those of 0 … 255 as they are
        close = net(torch.from_numpy(pixels) / 255, steps=200).detach().numpy()
        np.testing.assert_allclose(fl.run(quantise(net), pixels, steps=200).logits, close, atol=0.1)


def test_the_range_of_training_goes_with_the_state_dict(tmp_path):
    """The way that most torch code keeps a network; the names of its tensors do not change."""
    images = torch.tensor([[0.0, 0.25, 0.5, 1.0]] * 2)
    torch.save(trained(images).state_dict(), tmp_path / "state.pt")
    net, fresh = (fl.FSNN("6 (F6)", input_shape=(4,), classes=2) for _ in range(2))
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    assert set(state) == set(net.state_dict())
    net.load_state_dict(state)
    with pytest.raises(BadArgument, match="was trained on floats from 0 to 1"):
        quantise(net)
    fresh.load_state_dict(dict(state))  # a plain dict knows no range
    assert fresh.trained_range is None
    holder = torch.nn.Sequential(trained(images))
    other = torch.nn.Sequential(fresh)
    other.load_state_dict(holder.state_dict())
    assert fresh.trained_range == (0.0, 1.0)
    fresh.load_state_dict(fl.FSNN("6 (F6)", input_shape=(4,), classes=2).state_dict())
    assert fresh.trained_range is None  # these weights were trained on nothing


def test_a_normalisation_that_does_not_lead_to_the_floats_of_training_is_refused():
    sixteenths = np.array([[0, 3, 7, 16], [16, 8, 2, 0]], np.uint8)
    net = trained(torch.from_numpy(sixteenths) / 16)
    net.normalisation = fl.Normalisation(255.0)
    with pytest.raises(BadArgument, match=r"floats from 0 to 1, but its `normalisation` turns the calibration samples into 0 to 0\.0627"):
        quantise(net, calibration=sixteenths)
    net.normalisation = fl.Normalisation(16.0)
    assert quantise(net, calibration=sixteenths).input.shape == (4,)


def test_what_became_of_pixels_must_be_stated_if_it_was_more_than_a_division():
    with pytest.raises(BadArgument, match=r"floats from -1 to 2, .*Normalisation\(255\.0, mean, std\)"):
        quantise(trained(torch.tensor([[-1.0, 2.0, 0.0, 1.0]] * 2)))


def test_raw_values_as_floats_and_networks_with_a_normalisation_are_taken():
    raw_floats = torch.tensor([[0.0, 17.0, 255.0, 3.0]] * 2)
    assert trained(raw_floats).trained_range is None
    quantise(trained(raw_floats))
    quantise(trained(raw_floats / 255, normalisation=fl.Normalisation()))


@pytest.mark.parametrize(
    ("normalisation", "scale", "fault"),
    [
        (fl.Normalisation(255.0, 0.3, 0.2), 1 / 255, "none of them is negative, although `normalisation` subtracts the mean 0.3"),
        (fl.Normalisation(255.0, 0.3, 0.2), 1.0, "none of them is negative"),
        (fl.Normalisation(255.0), 1.0, "`normalisation` turns raw values 0 … 255 into a range of 1 at most"),
    ],
)
def test_floats_in_training_that_were_not_normalised_are_noticed_at_once_and_refused_later(normalisation, scale, fault):
    """Floats are taken as they are, but the chip normalises raw values: such a network got 97 % in float and 13 % in integers."""
    images = torch.tensor([[0.0, 17.0, 255.0, 3.0]] * 2) * scale
    with pytest.warns(fl.Remark, match="float images must already be normalised, but training uses floats from 0 to .*" + re.escape(fault)):
        net = trained(images, normalisation=normalisation)
    with pytest.raises(BadArgument, match=r"was trained on floats from 0 to .*train it on raw uint8 values, or set net\.normalisation"):
        quantise(net)
    net.train()
    net((images / 255 / scale - 0.3) / 0.2).sum().backward()  # later batches are normalised, so the first was a trial
    if normalisation.mean != (0.0,) and scale < 1:
        quantise(net.eval())


def test_only_an_fsnn_is_quantised():
    with pytest.raises(BadArgument, match=r"net must be an FSNN, got str; read it with FSNN\.load first"):
        quantise("model.pt")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="net must be an FSNN, got Sequential; build the network as an FSNN"):
        quantise(torch.nn.Sequential(torch.nn.Linear(2, 2)))
