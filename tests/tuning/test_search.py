"""A search: the same trials in turn, in processes, and after an interruption."""

import multiprocessing
import os
import time

import pytest

from fsnn_lava.errors import BackendFailed
from fsnn_lava.tuning.bench import Bench
from fsnn_lava.tuning.candidate import Candidate, candidates
from fsnn_lava.tuning.journal import TuningJournal
from fsnn_lava.tuning.search import search
from fsnn_lava.tuning.trial import Trial
from tests.tuning.test_trial import make_bench

WANTED = candidates(steps=8, layers=1, bits=(8,))[::9]


def test_in_processes_it_finds_what_it_finds_in_turn(tmp_path):
    bench, said, others = make_bench(60), [], multiprocessing.active_children()  # those of earlier tests are not ours
    in_turn = search(bench, WANTED, TuningJournal(tmp_path / "a", {}), processes=1, progress=lambda *done: said.append(done))
    assert [trial.candidate for trial in in_turn] == list(WANTED)
    assert said == [(n, len(WANTED)) for n in range(len(WANTED) + 1)]
    assert search(bench, WANTED, TuningJournal(tmp_path / "b", {}), processes=2) == in_turn
    assert [child for child in multiprocessing.active_children() if child not in others] == []


class Slow(Bench):
    """A bench on which the first candidate takes no time, and every other one hours."""

    def try_out(self, candidate: Candidate) -> Trial:
        if candidate != WANTED[0]:
            time.sleep(7200)
        return super().try_out(candidate)


class Deadly(Bench):
    """A bench that ends its process."""

    def try_out(self, candidate: Candidate) -> Trial:
        os._exit(1)


@pytest.mark.timeout(300)
def test_an_interrupt_does_not_wait_for_the_trials_under_way(tmp_path):
    def interrupt(done, total):
        if done:
            raise KeyboardInterrupt

    others, bench = multiprocessing.active_children(), Slow(**vars(make_bench(60)))
    with pytest.raises(KeyboardInterrupt):
        search(bench, WANTED, TuningJournal(tmp_path / "a", {}), processes=2, progress=interrupt)
    assert [child for child in multiprocessing.active_children() if child not in others] == []


def test_a_process_that_dies_is_reported(tmp_path):
    bench = Deadly(**vars(make_bench(60)))
    with pytest.raises(BackendFailed, match="--resume and fewer --processes"):
        search(bench, WANTED, TuningJournal(tmp_path / "a", {}), processes=2)


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
