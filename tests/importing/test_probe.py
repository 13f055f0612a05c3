"""The probe: what a neuron does, found from its spikes alone."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.errors import BadNetwork
from fsnn_lava.importing.probe import probe
from tests.helpers.made_neurons import Made


@pytest.mark.parametrize("leak", [1.0, 0.9, 0.35])
@pytest.mark.parametrize("theta", [1.0, 0.3])
def test_leak_and_threshold_are_measured_to_the_last_digits(leak, theta):
    facts = probe(Made(leak=leak, theta=theta))
    assert (facts.leak, facts.threshold) == (leak, theta)
    assert facts.removed == pytest.approx(leak * theta, rel=1e-11)
    assert facts.before_leak and facts.excess == 0.0 and facts.oddities == ()


RESETS = {"before": "subtract", "after": "subtract", "zero": "zero", "none": "none", "half": "other"}


@pytest.mark.parametrize(("made", "said"), RESETS.items())
def test_the_reset_is_told_from_the_inputs_that_fire_after_a_spike(made, said):
    assert probe(Made(reset=made)).reset == said


def test_subtraction_before_and_after_the_leak_differ_by_what_leaks_of_the_threshold():
    facts = probe(Made(reset="after", leak=0.75, theta=2.0))
    assert facts.removed == 2.0 and not facts.before_leak
    assert facts.excess == pytest.approx(0.5, rel=1e-11)  # (1 - leak) theta


@pytest.mark.parametrize("strict", [False, True])
def test_firing_at_the_threshold_itself_is_told_apart(strict):
    assert probe(Made(strict=strict, theta=0.7)).strict is strict


def test_a_threshold_that_no_short_float_meets_leaves_the_comparison_open():
    facts = probe(Made(gain=2**0.5))
    assert facts.strict is None
    assert "rounding hides which" in str(facts)


def test_the_gain_of_the_input_is_relative_to_the_stated_threshold():
    facts = probe(Made(gain=0.9, leak=0.9), stated_threshold=1.0)
    assert facts.gain == 0.9
    assert "leaks after adding the input" in str(facts)


def test_a_delay_is_counted_and_does_not_change_the_rest():
    late, prompt = probe(Made(delay=2)), probe(Made())
    assert (late.delay, prompt.delay) == (2, 0)
    assert (late.threshold, late.leak, late.removed) == (prompt.threshold, prompt.leak, prompt.removed)
    assert str(late).endswith("2 steps late")


@pytest.mark.parametrize(
    ("options", "oddity"),
    [
        ({"start": 0.5}, "does not start at rest"),
        ({"filtered": 0.5}, "second state"),
        ({"floor": -1.0}, "limits how far inhibition"),
    ],
)
def test_what_does_not_fit_is_an_oddity(options, oddity):
    facts = probe(Made(**options))
    assert any(oddity in one for one in facts.oddities)
    assert oddity in str(facts)


def test_several_spikes_in_a_step_are_noticed():
    facts = probe(lambda currents: Made()(currents) * 3.0)
    assert facts.oddities == ("sends spikes of size 3",)


def test_firing_without_an_input_is_noticed():
    def pacemaker(currents):
        spikes = Made()(currents)
        spikes[40:] = 1.0
        return spikes

    assert "fires without an input" in probe(pacemaker).oddities


def test_a_blind_step_after_a_spike_is_noticed():
    def refractory(currents):
        spikes = Made()(currents)
        spikes[1:] *= 1.0 - spikes[:-1]
        return spikes

    assert "cannot fire in the step after a spike" in probe(refractory).oddities


def test_a_neuron_that_never_fires_is_refused():
    with pytest.raises(BadNetwork, match="does not make the neuron fire within 6 steps"):
        probe(torch.zeros_like)


def test_a_neuron_that_returns_another_shape_is_refused():
    with pytest.raises(BadNetwork, match=r"one spike for each input \[6, 81\], got \[81\]"):
        probe(lambda currents: currents[0])
