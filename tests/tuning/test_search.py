"""A search: the same trials in turn, in processes, and after an interruption."""

import multiprocessing

import pytest

from fsnn_lava.tuning.candidate import candidates
from fsnn_lava.tuning.journal import TuningJournal
from fsnn_lava.tuning.search import search
from tests.tuning.test_trial import make_bench

WANTED = candidates(steps=8, layers=1, bits=(8,))[::9]


def test_in_processes_it_finds_what_it_finds_in_turn(tmp_path):
    bench, said, others = make_bench(60), [], multiprocessing.active_children()  # those of earlier tests are not ours
    in_turn = search(bench, WANTED, TuningJournal(tmp_path / "a", {}), processes=1, progress=lambda *done: said.append(done))
    assert [trial.candidate for trial in in_turn] == list(WANTED)
    assert said == [(n, len(WANTED)) for n in range(len(WANTED) + 1)]
    assert search(bench, WANTED, TuningJournal(tmp_path / "b", {}), processes=2) == in_turn
    assert [child for child in multiprocessing.active_children() if child not in others] == []


def test_an_interrupt_ends_the_processes_at_once(tmp_path):
    def interrupt(done, total):
        if done:
            raise KeyboardInterrupt

    others = multiprocessing.active_children()
    with pytest.raises(KeyboardInterrupt):
        search(make_bench(60), WANTED, TuningJournal(tmp_path / "a", {}), processes=2, progress=interrupt)
    assert [child for child in multiprocessing.active_children() if child not in others] == []


def test_an_interrupted_search_continues_with_what_is_left(tmp_path):
    bench = make_bench(60)
    whole = search(bench, WANTED, TuningJournal(tmp_path / "whole", {}), processes=1)

    def interrupt(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(bench, WANTED, TuningJournal(tmp_path / "parts", {}), processes=1, progress=interrupt)
    tried = []
    original = type(bench).try_out

    def counted(self, candidate):
        tried.append(candidate)
        return original(self, candidate)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(bench), "try_out", counted)
        again = search(bench, WANTED, TuningJournal(tmp_path / "parts", {}), processes=1, resume=True)
    assert again == whole
    assert tried == list(WANTED[3:])
