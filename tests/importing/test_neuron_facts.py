"""The sentence about a measured neuron."""

from __future__ import annotations

import pytest

from fsnn_lava.importing.neuron_facts import NeuronFacts


def facts(**changed):
    plain = {"threshold": 1.0, "strict": True, "leak": 0.9, "reset": "subtract", "removed": 0.9, "delay": 0}
    return NeuronFacts(**{**plain, **changed})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({}, "subtracts θ before the leak, spikes at u > θ, keeps 0.9 of u per step, without delay"),
        ({"removed": 1.0, "delay": 1}, "subtracts θ after the leak, spikes at u > θ, keeps 0.9 of u per step, 1 step late"),
        ({"removed": 0.5}, "subtracts 0.5 θ, spikes at u > θ, keeps 0.9 of u per step, without delay"),
        ({"leak": 1.0, "removed": 1.0, "strict": False}, "subtracts θ, spikes at u >= θ, does not leak, without delay"),
        ({"reset": "zero", "removed": 0.0}, "resets to zero, spikes at u > θ, keeps 0.9 of u per step, without delay"),
        ({"reset": "none", "removed": 0.0}, "does not reset, spikes at u > θ, keeps 0.9 of u per step, without delay"),
        (
            {"gain": 0.1, "oddities": ("fires without an input",)},
            "subtracts θ before the leak, spikes at u > θ, keeps 0.9 of u per step, multiplies its input by 0.1, without delay, "
            "fires without an input",
        ),
    ],
)
def test_the_sentence_says_what_was_measured(changed, sentence):
    assert str(facts(**changed)) == sentence
