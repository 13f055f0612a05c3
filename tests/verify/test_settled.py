"""How settled a run is: its answer, the steps that would settle it, and the sentences."""

from __future__ import annotations

import pytest

from fsnn_lava.verify.settled import Settled, steps_to_settle


def settled(**changes):
    values = {"answer": "partly", "residual": 0.1, "typical": 0.02, "resolution": 0.05, "level": 0.05, "beyond": 0.03, "floor": 0.0}
    return Settled(**{**values, **changes})


@pytest.mark.parametrize(("residual", "level", "steps"), [(0.1, 0.05, 40), (0.5, 0.05, 200), (0.05, 0.05, 20), (0.11, 0.05, 44)])
def test_without_a_leak_twice_the_residual_takes_twice_the_steps(residual, level, steps):
    assert steps_to_settle(residual, level, weight_sum=20.0, leak=1.0) == steps


def test_with_a_leak_the_sum_of_the_weights_must_grow_and_cannot_beyond_its_limit():
    """lambda = 1/2: A_1 = 1, A_2 = 1.5, A_3 = 1.75, never 2."""
    assert steps_to_settle(0.15, 0.1, weight_sum=1.0, leak=0.5) == 2
    assert steps_to_settle(0.17, 0.1, weight_sum=1.0, leak=0.5) == 3
    assert steps_to_settle(0.2, 0.1, weight_sum=1.0, leak=0.5) is None


def test_only_yes_is_true():
    assert settled(answer="yes")
    assert not settled(answer="partly")
    assert not settled(answer="no")


def test_the_sentence_says_what_more_steps_would_do():
    assert "about 40 steps would bring all of them within 0.05" in settled(steps=40).sentence()
    assert "the leak leaves up to 0.08 however long it runs" in settled(steps=None, floor=0.08).sentence()
    assert "more steps do not settle it" in settled(floor=None).sentence()
    assert "steps would bring" not in settled(answer="yes", steps=20).sentence()
    assert "it falls as T^-0.97 so far (E11: T^-1.00)" in settled(slope=-0.97, expected_slope=-1.0).sentence()


def test_the_sentence_names_the_level_and_what_is_unknown():
    assert "off by more than 0.05, which is what the run can resolve" in settled().sentence()
    assert "off by more than the allowed 0.08" in settled(level=0.08).sentence()
    assert "a*" not in settled().sentence()
    assert "|a - a*| is at most 0.2; no equilibrium was found for 3 samples" in settled(distance=0.2, without=3).sentence()
