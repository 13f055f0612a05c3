"""The integer network: what is not said about a part means what it says in its documentation."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, HostDrive, Input, Layer, Readout, TransposedConvSynapse


def test_a_convolution_moves_by_one_and_pads_nothing_unless_it_is_said():
    kernel = np.arange(-9, 9).reshape(2, 1, 3, 3)
    drive = HostDrive(weight=kernel / 7, bias=np.zeros((2, 4, 4)))
    assert (drive.stride, drive.padding) == ((1, 1), (0, 0))
    conv = ConvSynapse(source="input", target="l1", weight=kernel)
    assert (conv.stride, conv.padding, conv.groups, conv.exponent) == ((1, 1), (0, 0), 1, 0)
    back = TransposedConvSynapse(source="l1", target="l1", weight=kernel)
    assert (back.stride, back.padding, back.output_padding, back.exponent) == ((2, 2), (0, 0), (0, 0), 0)
    assert DenseSynapse(source="l1", target="l1", weight=kernel.reshape(2, 9)).exponent == 0


def test_an_input_is_bytes_from_0_to_1_unless_it_is_said():
    input = Input(kind="pixels", shape=(2,))
    assert (input.divisor, input.mean, input.std) == (255.0, (0.0,), (1.0,))


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"divisor": 0.0}, "divisor must be positive"),
        ({"divisor": -1.0}, "divisor must be positive"),
        ({"divisor": np.inf}, "divisor must be positive"),
        ({"mean": (np.nan,)}, "mean must be finite"),
        ({"std": (1.0, 0.0)}, "std must be positive"),
        ({"std": (np.inf,)}, "std must be positive"),
        ({"kind": "sound"}, "kind must be pixels, events or current, got 'sound'"),
    ],
)
def test_an_input_without_meaning_is_refused(option, sentence):
    with pytest.raises(BadNetwork, match=sentence):
        Input(**{"kind": "pixels", "shape": (2,), **option})


@pytest.mark.parametrize(("groups", "channels"), [(0, 0), (0, 4), (-2, -4), (-3, 4), (1, 4), (4, 8)])
def test_groups_that_do_not_divide_the_channels_are_refused(groups, channels):
    conv = ConvSynapse(source="input", target="l1", weight=np.ones((6, 2, 3, 3), int), groups=groups)
    with pytest.raises(BadNetwork, match=rf"weight \(6, 2, 3, 3\) with {groups} groups does not take {channels} channels"):
        conv.output_shape((channels, 5, 5))
    assert ConvSynapse(source="input", target="l1", weight=np.ones((6, 2, 3, 3), int), groups=2).output_shape((4, 5, 5)) == (6, 3, 3)


@pytest.mark.parametrize("option", [{"stride": (0, 2)}, {"padding": (-1, 0)}, {"output_padding": (2, 0)}, {"output_padding": (0, -1)}])
def test_a_transposed_convolution_that_torch_would_not_do_is_refused(option):
    back = TransposedConvSynapse(source="l1", target="l1", weight=np.ones((2, 3, 3, 3), int), **option)
    with pytest.raises(BadNetwork, match="are inconsistent"):
        back.output_shape((2, 5, 5))


@pytest.mark.parametrize("option", [{"stride": (0, 1)}, {"padding": (-1, 0)}])
def test_a_convolution_with_sizes_that_are_none_is_refused(option):
    conv = ConvSynapse(source="input", target="l1", weight=np.ones((2, 3, 3, 3), int), **option)
    with pytest.raises(BadNetwork, match="padding non-negative"):
        conv.output_shape((3, 5, 5))


@pytest.mark.parametrize("kind", ["pixels", "events"])
def test_an_input_that_reaches_a_later_layer_is_refused(kind):
    layers = tuple(Layer(name=name, shape=(2,), threshold=5, bias=np.zeros(2, int), scale=1.0) for name in ("l1", "l2"))
    synapses = [DenseSynapse(source="input", target=layer.name, weight=np.ones((2, 3), int)) for layer in layers]
    with pytest.raises(BadNetwork, match=r"'input' -> 'l2'.*may not skip a layer"):
        ChipNetwork(
            input=Input(kind=kind, shape=(3,)),
            layers=layers,
            synapses=tuple(synapses),
            readout=Readout(weight=np.ones((2, 2), int), bias=np.zeros(2, int), scale=1.0),
            steps=3,
        )
