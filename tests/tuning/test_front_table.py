"""The trade-offs as text."""

from fsnn_lava.tuning.front_table import chosen_sentence, front_table
from tests.tuning.test_choice import trial


def test_every_trial_has_a_line_under_its_titles_and_a_mark():
    chosen, keeps, loses = trial(4), trial(8, operations=1234567.0, cores=None, energy=None), trial(2, lost=9, right=81)
    emulated = trial(2, answer="cannot run")
    lines = front_table([chosen, keeps, emulated, loses], chosen, max_drop=1.0).splitlines()
    assert lines[0].split() == ["accuracy", "chip", "steps", "messages", "operations", "cores", "time", "energy", "candidate"]
    assert [line[0] for line in lines[1:]] == ["*", "+", "-", " "]
    assert lines[1].split()[1:6] == ["90.00%", "4", "10", "100", "2"]
    assert "1,000,000 … 4,000,000 µJ" in lines[1] and "1,234,567" in lines[2] and "–" in lines[2] and lines[2].count("unknown") == 2
    assert len({line.index("rate, T") for line in lines[1:]}) == 1


def test_the_choice_is_said_with_its_confidence():
    said = chosen_sentence(trial(4, lost=3, gained=1), 0.92, max_drop=2.0)
    assert "90.00%, 2.00 points below the float network's 92.00% (3 answers lost, 1 gained)" in said
    assert "the drop is at most 2 points with a confidence of about 50%" in said
    assert "1.00 points above the float" in chosen_sentence(trial(4, gained=1), 0.9, max_drop=1.0)
    assert "the same as the float" in chosen_sentence(trial(4), 0.9, max_drop=1.0)
