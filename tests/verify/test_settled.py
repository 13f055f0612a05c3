"""How settled a run is: its answer, the steps that would settle it, and the sentences."""

from __future__ import annotations

import pytest

from fsnn_lava.verify.settled import Settled, answer_of, steps_to_settle


def settled(**changes):
    values = {"answer": "partly", "residual": 0.1, "typical": 0.02, "resolution": 0.05, "level": 0.05, "beyond": 0.03, "floor": 0.0}
    return Settled(**{"samples_settled": 0.5, **values, **changes})


@pytest.mark.parametrize(
    ("unsettled", "without", "answer"), [(0, 0, "yes"), (0, 1, "partly"), (1, 0, "partly"), (5, 0, "partly"), (6, 0, "no")]
)
def test_yes_is_every_sample_and_no_is_less_than_half_of_them(unsettled, without, answer):
    assert answer_of(unsettled=unsettled, samples=10, without=without) == answer


@pytest.mark.parametrize(("excess", "steps"), [(2.0, 40), (10.0, 200), (1.0, 20), (2.2, 44)])
def test_without_a_leak_twice_the_residual_takes_twice_the_steps(excess, steps):
    assert steps_to_settle(excess * 0.05, 0.05, weight_sum=20.0, leak=1.0) == steps


def test_with_a_leak_the_sum_of_the_weights_must_grow_and_cannot_beyond_its_limit():
    """lambda = 1/2: A_1 = 1, A_2 = 1.5, A_3 = 1.75, never 2."""
    assert steps_to_settle(1.5, 1.0, weight_sum=1.0, leak=0.5) == 2
    assert steps_to_settle(1.7, 1.0, weight_sum=1.0, leak=0.5) == 3
    assert steps_to_settle(2.0, 1.0, weight_sum=1.0, leak=0.5) is None


def test_only_yes_is_true():
    assert settled(answer="yes")
    assert not settled(answer="partly")
    assert not settled(answer="no")


def test_the_sentence_says_what_more_steps_would_do():
    assert "about 40 steps would bring all of them within 0.05" in settled(steps=40).sentence()
    assert "the leak leaves a residual of up to 0.08, however long it runs" in settled(steps=None, floor=0.08).sentence()
    assert "more steps do not settle it" in settled(floor=None).sentence()
    nothing = settled(steps=None, floor=0.0, level=0.0, demanded=True).sentence()
    assert "no number of steps brings all of them to exactly 0" in nothing and "leak" not in nothing
    assert "steps would bring" not in settled(answer="yes", beyond=0.0, steps=20).sentence()
    assert "steps would bring" not in settled(answer="partly", beyond=0.0, without=1, steps=20).sentence()
    assert "it falls as T^-0.97 so far (E11: T^-1.00; 8 samples)" in settled(slope=-0.97, slope_samples=8, expected_slope=-1.0).sentence()
    assert "it falls as T^-0.97 so far (2 samples)" in settled(slope=-0.97, slope_samples=2).sentence()


@pytest.mark.parametrize(("slope", "word"), [(-0.76, "about"), (-0.74, "at least")])
def test_the_steps_are_a_lower_bound_where_the_residual_falls_more_slowly_than_predicted(slope, word):
    found = settled(steps=40, slope=slope, expected_slope=-1.0)
    assert f"{word} 40 steps" in found.sentence() and found.short().endswith(f", {word} 40 steps needed)")


def test_the_outlook_also_stands_alone_as_in_a_report():
    slow = settled(steps=40, slope=-0.5, slope_samples=8, expected_slope=-1.0)
    assert slow.outlook() == "at least 40 steps are needed to bring all of them within 0.05"
    assert "so far (E11: T^-1.00; 8 samples), so that at least 40 steps are needed" in slow.sentence()
    assert "so that" not in settled(slope=-0.5, expected_slope=-1.0, beyond=0.0, steps=40).sentence()
    assert "8 samples), the leak leaves" in settled(slope=-0.1, slope_samples=8, expected_slope=-0.2, floor=0.08).sentence()


def test_the_sentence_names_the_level_and_what_is_unknown():
    assert "off by more than 0.05, which is what the run can resolve" in settled().sentence()
    assert "off by more than the allowed 0.08" in settled(level=0.08, demanded=True).sentence()
    assert "none of them in 75.00% of the samples" in settled(samples_settled=0.75).sentence()
    assert "none of them" not in settled(samples_settled=0.0).sentence()
    assert ", and 0.00% by more than spikes under way and the phases of their sources explain" in settled(unexplained=0.0).sentence()
    assert "explain" not in settled(beyond=0.0, unexplained=0.0).sentence()
    assert "a*" not in settled().sentence()
    assert "|a - a*| is at most 0.2; no equilibrium was found for 3 samples" in settled(distance=0.2, without=3).sentence()


def test_the_first_line_has_the_number_of_steps_if_there_is_one():
    first = settled(answer="no", steps=40).short()
    assert first == "no (|f(a) - a| up to 0.1, 3.00% beyond the 0.05 that it resolves, about 40 steps needed)"
    assert settled(level=0.08, demanded=True).short() == "partly (|f(a) - a| up to 0.1, 3.00% beyond the allowed 0.08)"
    assert "steps" not in settled(answer="yes", beyond=0.0, steps=20).short()


def test_a_share_that_is_not_zero_does_not_look_like_zero():
    assert ", 0.00% beyond" in settled(beyond=0.0).short()
    assert ", less than 0.01% beyond" in settled(beyond=4e-5).short()
    assert ", 0.01% beyond" in settled(beyond=6e-5).short()
