"""The candidates of a search."""

from fsnn_lava.placement.chip_window import ChipWindow
from fsnn_lava.tuning.candidate import BITS, DEAD_BANDS, Candidate, candidates, delta_steps, rate_steps


def test_steps_are_shares_of_the_trained_ones_and_those_that_fill_a_window():
    assert rate_steps(30, 1) == [6, 8, 11, 14, 15, 22, 30]  # 6, 14 and 30 fill windows of 8, 16 and 32
    for layers in (1, 2, 5):
        for steps in set(rate_steps(64, layers)) - {64, 48, 32, 24, 16}:
            window = ChipWindow(steps=steps, layers=layers)
            assert window.used == window.length - 1 and ChipWindow(steps=steps + 1, layers=layers).length == 2 * window.length
    assert rate_steps(1, 1) == [1]


def test_delta_takes_whole_turns_around_the_loop_and_no_more_steps_than_spikes():
    assert delta_steps(30, 1, 1) == [1, 2, 3, 4, 6, 14, 30]
    assert delta_steps(32, 2, 2) == [1, 3, 5, 7, 11, 13, 29]
    assert delta_steps(1, 1, 1) == [1, 2]


def test_every_combination_is_tried_once_and_delta_has_no_units_per_channel():
    found = candidates(steps=30, layers=1)
    assert len(found) == len(set(found)) == len(BITS) * (2 * 7 + len(DEAD_BANDS) * 7)
    assert not any(one.per_channel for one in found if one.encoding == "delta")
    assert {one.dead_band is None for one in found if one.encoding == "rate"} == {True}
    assert {one.family for one in candidates(steps=5, layers=1, encodings=["rate"], bits=[8, 8])} == {("rate", 8, False), ("rate", 8, True)}


def test_a_candidate_says_what_it_is():
    rate = Candidate(encoding="rate", bits=6, per_channel=True, steps=14)
    delta = Candidate(encoding="delta", bits=8, per_channel=False, steps=4, dead_band=0.1)
    assert str(rate) == "rate, T = 14, 6 bits, units per channel"
    assert str(delta) == "delta, η = 0.1, T = 4, 8 bits"
    assert Candidate(**delta.to_dict()) == delta
