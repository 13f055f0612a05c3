"""A batch is shared among threads: no sample is computed twice or lost, and nothing keeps running after an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from fsnn_lava.compiled.threads import SPIN_COUNT, over_samples, set_thread_count, thread_count

SETTINGS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("samples", [0, 1, 2, 7, 100])
def test_every_sample_is_computed_once(samples: int, number: int) -> None:
    done = [0] * samples

    def add(first: int, end: int) -> None:
        for b in range(first, end):
            done[b] += 1

    over_samples(add, samples, number=number)
    assert done == [1] * samples


def test_no_range_is_shorter_than_worthwhile_if_there_are_enough_samples() -> None:
    lengths: list[int] = []
    over_samples(lambda first, end: lengths.append(end - first), 100, number=2, least=30)
    assert sorted(lengths) == [10, 30, 30, 30]


def test_another_thread_takes_part() -> None:
    seen = set()
    both = threading.Barrier(2)

    def meet(first: int, end: int) -> None:
        both.wait(timeout=60)  # raises if one thread does everything
        seen.add(threading.get_ident())

    over_samples(meet, 2, number=2)
    assert len(seen) == 2


@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_error_is_raised_and_the_remaining_ranges_are_not_started(elsewhere: bool) -> None:
    here, begun = threading.get_ident(), []
    both = threading.Barrier(2)

    def fail(first: int, end: int) -> None:
        begun.append(first)
        both.wait(timeout=60)  # each thread has one range
        if (threading.get_ident() != here) == elsewhere:
            raise ZeroDivisionError(f"sample {first}")
        time.sleep(0.2)

    with pytest.raises(ZeroDivisionError, match="sample"):
        over_samples(fail, 8, number=2)
    assert len(begun) == 2
    over_samples(lambda first, end: None, 8, number=2)  # the threads still work


def test_a_forked_process_does_not_wait_for_its_parents_threads() -> None:
    over_samples(lambda first, end: None, 24, number=2)  # the parent's threads exist now
    child = os.fork()
    if child == 0:
        done: list[int] = []
        over_samples(lambda first, end: done.append(first), 24, number=2)
        os._exit(0 if len(done) > 1 else 1)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the forked process hangs")
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [({}, SPIN_COUNT), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
)
def test_the_commands_let_idle_threads_sleep_unless_the_user_chose_otherwise(chosen: dict[str, str], expected: str) -> None:
    settings = {name: value for name, value in os.environ.items() if name not in SETTINGS} | chosen
    ask = "import sys, os, fsnn_lava.cli; print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=settings, timeout=120)
    assert done.stdout.split() == [expected, "False"]  # torch reads it when it is loaded, so it must not be loaded yet


def test_the_number_of_threads_is_set_for_torch_and_for_compiled_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8))
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    before = torch.get_num_threads()
    try:
        assert thread_count() == 5
        set_thread_count(3)
        assert (torch.get_num_threads(), thread_count()) == (3, 3)
    finally:
        torch.set_num_threads(before)


INTERRUPTED = """
import os, signal, time
from fsnn_lava.compiled.threads import over_samples
begun = []
def slow(first, end):
    begun.append(first)
    if len(begun) == 2: os.kill(os.getpid(), signal.SIGINT)
    for _ in range(30): time.sleep(0.01)
try:
    over_samples(slow, 1000, number=2)
except KeyboardInterrupt:
    print("interrupted", len(begun) < 20)
"""


def test_an_interrupt_ends_the_work() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("interrupted True\n", "")
