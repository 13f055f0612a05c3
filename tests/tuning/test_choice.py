"""Front, cheapest and confidence, on trials made by hand."""

from statistics import NormalDist

import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.tuning.candidate import Candidate
from fsnn_lava.tuning.choice import cheapest, check_choice_resolution, confidence, front
from fsnn_lava.tuning.trial import Trial


def trial(steps, *, right=90, lost=0, gained=0, operations=100.0, energy=(1.0, 4.0), answer="runs", cores=2, failure=""):
    return Trial(
        candidate=Candidate(encoding="rate", bits=8, per_channel=False, steps=steps),
        samples=100,
        right=right,
        lost=lost,
        gained=gained,
        answer=answer,
        cores=cores,
        chip_steps=steps,
        messages=operations / 10,
        operations=operations,
        energy=energy,
        failure=failure,
    )


def test_what_another_beats_is_not_on_the_front():
    best, cheap, beaten, failed = trial(8), trial(4, right=80), trial(8, operations=101.0), trial(1, failure="too large")
    assert front([beaten, best, failed, cheap]) == sorted([best, cheap], key=lambda t: t.price())
    equal = trial(8)
    assert front([best, equal]) == [best, equal]  # neither is better in anything


def test_what_the_board_runs_is_not_beaten_by_what_it_does_not():
    runs, better = trial(8), trial(8, operations=50.0, answer="cannot run")
    assert front([runs, better]) == [better, runs] or front([runs, better]) == [runs, better]
    assert len(front([runs, better])) == 2
    assert front([trial(8, answer="cannot run"), trial(8, operations=50.0)]) == [trial(8, operations=50.0)]


def test_the_cheapest_keeps_the_accuracy_and_runs():
    good, lossy = trial(8, energy=(2.0, 8.0)), trial(4, lost=3, gained=1, right=88)
    emulated, large = trial(2, answer="cannot run", energy=(0.5, 1.0)), trial(2, answer="does not fit", energy=(0.1, 0.2))
    trials = [good, lossy, emulated, large, trial(1, failure="too large", answer="runs")]
    assert cheapest(trials, max_drop=1.0) is good
    assert cheapest(trials, max_drop=2.0) is lossy  # two answers of 100
    assert cheapest(trials, max_drop=1.0, emulated=True) is emulated
    assert cheapest([large], max_drop=5.0, emulated=True) is None
    without = [trial(8, energy=None, operations=50.0), trial(4, energy=None)]
    assert cheapest(without, max_drop=1.0) is without[1]  # where no energy is known, the fewest steps


def test_confidence_is_that_of_a_paired_difference():
    assert confidence(trial(8, lost=1), max_drop=1.0) == pytest.approx(0.5)
    assert confidence(trial(8), max_drop=1.0) == pytest.approx(NormalDist().cdf(1.0))  # nothing changed: 1 + 0 of variance
    assert confidence(trial(8, lost=4, gained=4), max_drop=3.0) == pytest.approx(NormalDist().cdf(1.0))
    assert confidence(trial(8, lost=9), max_drop=1.0) < 0.01


def test_a_drop_finer_than_the_samples_resolve_is_refused():
    check_choice_resolution(1000, 0.1)
    with pytest.raises(BadArgument, match=r"999 held-out samples cannot resolve a drop of 0\.1 percentage points: one answer is 0\.1;"):
        check_choice_resolution(999, 0.1)
    with pytest.raises(BadArgument, match="or at least 2000"):
        check_choice_resolution(10, 0.05)
    with pytest.raises(BadArgument, match=r"one answer is .* or more$"):
        check_choice_resolution(10, 0.0)
    with pytest.raises(BadArgument, match="must lie between 0 and 100"):
        check_choice_resolution(1000, -1.0)
