"""The options of an FSNN: a wrong one is named in one sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fsnn_lava as fl


def network(**options):
    return fl.FSNN("4 (F4)", input_shape=(3,), classes=2, **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"neuron": "lif"}, r"neuron must be IF\(\), LIF\(leak\) or SigmaDelta\(\), for example fsnn_lava\.LIF\(0\.95\), got 'lif'"),
        ({"neuron": fl.LIF}, r"neuron must be IF\(\), LIF\(leak\) or SigmaDelta\(\)"),
        ({"neuron": [fl.LIF(0.9), fl.IF()]}, r"all layers share one leak: different ones would need a trace per target's leak \(E10\)"),
        ({"vth": [1, 2]}, r"vth must be one number, or one for each layer \(1 here\), got \[1, 2\]"),
        ({"vth": [-1]}, r"layer 'l1': vth must be a positive number, got -1"),
        ({"steps": 3.5}, "steps must be an integer of at least 1, got 3.5"),
        ({"steps": "3"}, "steps must be an integer of at least 1, got '3'"),
        ({"vth": float("nan")}, "vth must be positive and finite, got nan"),
        ({"normalisation": 255}, r"normalisation must be a Normalisation, for example fsnn_lava\.Normalisation\(255\.0\), got 255"),
    ],
)
def test_an_option_of_the_wrong_type_is_named(options, sentence):
    with pytest.raises(fl.BadArgument, match=sentence):
        network(**options)


def test_an_array_is_not_taken_for_a_tensor():
    net = network()
    for call in (net, net.simulate, net.equilibrium):
        with pytest.raises(fl.BadArgument, match=r"images must be a torch\.Tensor, got ndarray: pass torch\.from_numpy\(images\)"):
            call(np.zeros((1, 3), np.uint8))
    with pytest.raises(fl.BadArgument, match=r"got list: pass torch\.as_tensor\(images\)"):
        net([[0, 1, 2]])
    assert net(torch.zeros(2, 3)).shape == (2, 2)


def test_steps_that_are_not_an_integer_and_complex_images_are_refused_when_called():
    net = network()
    for call in (net, net.simulate):
        with pytest.raises(fl.BadArgument, match=r"steps must be an integer of at least 1, got 3\.5"):
            call(torch.zeros(1, 3), steps=3.5)
        with pytest.raises(fl.BadArgument, match=r"images must be real numbers, got torch\.complex64"):
            call(torch.zeros(1, 3, dtype=torch.complex64))
    assert net.simulate(torch.zeros(1, 3), steps=np.int64(3)).rates[0].shape == (1, 4)


def test_the_number_of_classes_is_an_integer():
    for classes in (0, 2.0, "2"):
        with pytest.raises(fl.BadArchitecture, match=f"classes must be an integer of at least 1, got {classes!r}"):
            fl.FSNN("4 (F4)", input_shape=3, classes=classes)


def test_a_network_whose_options_are_numpy_integers_is_loaded_as_it_was_saved(tmp_path):
    fl.FSNN("4 (F4)", input_shape=3, classes=np.int64(2), steps=np.int64(5)).save(tmp_path / "model.pt")
    net = fl.FSNN.load(tmp_path / "model.pt")
    assert (net.architecture.classes, net.steps) == (2, 5)


def test_a_number_is_short_for_the_shape_of_a_vector_and_other_shapes_are_named():
    assert fl.FSNN("4 (F4)", input_shape=3, classes=2).architecture.input_shape == (3,)
    for shape in (2.5, (28, 28), "3", (3, 0, 3)):
        with pytest.raises(fl.BadArchitecture, match=r"the input must have the shape \(N,\) or \(C, H, W\) of positive sizes, got "):
            fl.FSNN("4 (F4)", input_shape=shape, classes=2)
