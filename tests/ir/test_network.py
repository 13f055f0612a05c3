"""The integer network: parts that are left out get their documented defaults."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import ChipNetwork, DenseSynapse, Input, Layer, Readout


def test_an_input_is_bytes_from_0_to_1_by_default():
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
