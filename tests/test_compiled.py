"""Work is shared by threads: torch's where they can be had, our own elsewhere; nothing is done twice, lost, or left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import torch

from fsnn_lava.compiled import compiler as compiled
from fsnn_lava.compiled.threads import over_samples

WAYS = ["torch's threads", "a pool"]


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    """Which threads there are to have is found out once per process."""
    compiled._team.cache_clear()
    yield
    compiled._team.cache_clear()


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "a pool":
        monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
        assert compiled._team() is None
    else:
        use_torchs_threads(monkeypatch)
    return str(request.param)


def use_torchs_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMP_SPINCOUNT", "10000")
    monkeypatch.setattr(compiled, "_OWN_TORCH", True)
    if compiled._team() is None:
        pytest.skip("torch was built with another OpenMP than GNU's")


def shared(function: Callable[[int, int], object], samples: int = 24, number: int = 2) -> None:
    over_samples(function, samples, number=number)


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("samples", [0, 1, 2, 7, 100])
def test_every_sample_is_done_once(way: str, samples: int, number: int) -> None:
    done = [0] * samples

    def add(first: int, end: int) -> None:
        for b in range(first, end):
            done[b] += 1

    shared(add, samples, number)
    assert done == [1] * samples


def test_another_thread_takes_part(way: str) -> None:
    seen = set()
    both = threading.Barrier(2)

    def meet(first: int, end: int) -> None:
        both.wait(timeout=60)  # for ever, if one thread did everything
        seen.add(threading.get_ident())

    shared(meet, samples=2)
    assert len(seen) == 2


@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_error_comes_out_and_the_rest_is_not_begun(way: str, elsewhere: bool) -> None:
    here, begun = threading.get_ident(), []
    both = threading.Barrier(2)

    def fail(first: int, end: int) -> None:
        begun.append(first)
        both.wait(timeout=60)  # each thread has one
        if (threading.get_ident() != here) == elsewhere:
            raise ZeroDivisionError(f"sample {first}")
        time.sleep(0.2)

    with pytest.raises(ZeroDivisionError, match="sample"):
        shared(fail, samples=8)
    assert len(begun) == 2
    shared(lambda first, end: None)  # and the threads are still good


def test_a_forked_process_does_not_wait_for_threads_that_it_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torchs_threads(monkeypatch)
    shared(lambda first, end: None)
    torch.ones(2000, 200) @ torch.ones(200, 200)  # torch's threads exist now
    child = os.fork()
    if child == 0:
        done: list[int] = []
        shared(lambda first, end: done.append(first))
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


LOADED_AFTER_A_FORK = """
import os, sys
os.environ["GOMP_SPINCOUNT"] = "10000"
import torch
torch.ones(2000, 200) @ torch.ones(200, 200)
child = os.fork()
if child == 0:
    from fsnn_lava.compiled import compiler as compiled
    done = []
    compiled.over_samples(lambda first, end: done.append(first), 24, number=2)
    os._exit(0 if len(done) > 1 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_nor_does_one_that_loads_us_after_the_fork() -> None:
    settings = {**os.environ, "OMP_NUM_THREADS": "2"}
    with subprocess.Popen([sys.executable, "-c", LOADED_AFTER_A_FORK], env=settings, start_new_session=True) as process:
        try:
            assert process.wait(timeout=120) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def test_the_commands_have_torchs_threads_and_a_library_that_was_not_told_to_has_its_own() -> None:
    """Idle threads that stay awake for long hold up everybody on a machine with other work."""
    if compiled._library() is None:
        pytest.skip("torch was built with another OpenMP than GNU's")
    ask = "import {}torch; from fsnn_lava.compiled import compiler as compiled; print(compiled._team() is not None)"
    settings = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    settings["OMP_NUM_THREADS"] = "2"
    for first, expected in (("fsnn_lava.cli, ", "True"), ("", "False")):
        command = [sys.executable, "-c", ask.format(first)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings, timeout=120)
        assert done.stdout.strip() == expected, first


INTERRUPTED = """
import os, signal, time
if not {pool}: os.environ["GOMP_SPINCOUNT"] = "10000"
from fsnn_lava.compiled import compiler as compiled
import torch
begun = []
def slow(first, end):
    begun.append(first)
    if len(begun) == 2: os.kill(os.getpid(), signal.SIGINT)
    for _ in range(30): time.sleep(0.01)
try:
    compiled.over_samples(slow, 1000, number=2)
except KeyboardInterrupt:
    print("interrupted", len(begun) < 20)
"""


@pytest.mark.parametrize("pool", [False, True])
def test_an_interrupt_ends_the_work(pool: bool) -> None:
    settings = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    command = [sys.executable, "-c", INTERRUPTED.format(pool=pool)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=settings)
    assert (done.stdout, done.stderr) == ("interrupted True\n", "")
