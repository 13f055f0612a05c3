"""The progress of a run: named phases, and a remaining time estimated from the batches after the first."""

from __future__ import annotations

import sys

import pytest

from fsnn_lava.cli.progress import TimeLeft, named_phase, run_progress


def clock(times):
    left = iter(times)
    return lambda: next(left)


def test_the_first_batch_counts_only_while_it_is_the_only_one():
    left = TimeLeft(100, clock([0.0, 50.0, 51.0, 52.0]))  # starting took 50 s, a batch of ten takes one
    assert (left.seconds(), left.text()) == (None, "")
    left.advance(10)
    assert (left.seconds(), left.text()) == (450.0, "at most 8 min left")
    left.advance(10)
    assert (left.seconds(), left.text()) == (8.0, "8 s left")
    left.advance(80)
    assert (left.seconds(), left.text()) == (0.0, "done")


def test_samples_that_were_kept_say_nothing_about_the_pace():
    left = TimeLeft(100, clock([0.0, 0.5, 9.0, 10.0]))
    left.advance(60, kept=True)
    assert left.seconds() is None
    left.advance(10)
    left.advance(10)
    assert left.seconds() == pytest.approx(2.0)


def test_one_slow_batch_does_not_change_the_estimate():
    left = TimeLeft(1000, clock([0.0, 1.0, 2.0, 3.0, 33.0, 34.0]))
    for _ in range(5):
        left.advance(10)
    assert left.seconds() == pytest.approx(95.0)


def test_a_log_gets_a_line_for_every_tenth(capsys):
    with run_progress(40) as shown:
        shown.advance(20, kept=True)
        shown.phase("running")
        for _ in range(5):
            shown.advance(4)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"fsnn-run: {done} of 40 samples" for done in (24, 28, 32, 36, 40)]
    assert lines[-1].endswith(", done")


def test_a_terminal_sees_the_phase_on_the_bar_and_a_clean_line_afterwards(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with run_progress(10) as shown:
        shown.phase("comparing")
        shown.advance(5)
        shown.phase("running")
    with named_phase("judging the run"):
        pass
    said = capsys.readouterr().err
    assert "comparing" in said and "running" in said and "5/10 samples" in said and "judging the run …" in said
    assert ", ," not in said
    assert said.endswith("\r")
