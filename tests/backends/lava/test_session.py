from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.backends.lava.needs import needs_lava

needs_lava()

from fsnn_lava.backends.lava.model_selection import ByTag  # noqa: E402
from fsnn_lava.backends.lava.quiet_logging import quiet_logging  # noqa: E402
from fsnn_lava.backends.lava.requirement import require_lava  # noqa: E402
from fsnn_lava.backends.lava.session import Session  # noqa: E402
from fsnn_lava.errors import BackendFailed, BackendMissing  # noqa: E402
from tests.backends.lava.processes.faulty.process import Echo, Relay  # noqa: E402

ROOT = Path(__file__).parents[3]


def ring(fault: str = "", **options: float) -> Session:
    with quiet_logging():
        first, second = Relay(name="first"), Relay(fault=fault, name="second")
        first.s_out.connect(second.s_in)
        second.s_out.connect(first.s_in)
        return Session([first, second], ByTag(), **options)


def test_runs_and_stops():
    with ring() as session:
        session.run(5)
        session.run(5)
        pids = list(session.pids.values())
    assert session.steps == 10
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with pytest.raises(BackendFailed, match="stopped; create a new simulator"):
        session.run(1)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("raise before sending", r"'second' raised ValueError at step 1 … 9: a bad step"),
        ("raise after receiving", r"'second' raised ValueError at step 1 … 9: a late bad step"),
        ("exit", r"'second' ended with exit code 5 at step 1 … 9"),
    ],
)
def test_a_model_that_fails_ends_with_a_message(fault, sentence):
    with ring(fault) as session, pytest.raises(BackendFailed, match=sentence):
        session.run(9)


def test_a_model_that_cannot_be_made_ends_with_a_message():
    with pytest.raises(BackendFailed, match=r"'second' raised RuntimeError during set-up: born broken"):
        ring("raise at once")


def test_a_killed_process_is_named():
    with ring() as session:
        session.run(2)
        threading.Timer(0.2, os.kill, (session.pids["first"], signal.SIGKILL)).start()
        with pytest.raises(BackendFailed, match=r"'first' was killed by SIGKILL"):
            session.run(1_000_000)


def test_a_process_killed_while_the_run_is_paused_is_named():
    with ring() as session:
        session.run(2)
        os.kill(session.pids["first"], signal.SIGKILL)
        with pytest.raises(BackendFailed, match=r"'first' was killed by SIGKILL"):
            session.paused(lambda: time.sleep(60))


def test_the_traceback_of_a_model_is_kept():
    with ring("raise before sending") as session, pytest.raises(BackendFailed) as caught:
        session.run(9)
    assert "faulty/models.py" in str(caught.value.__cause__)


def test_a_deadlock_names_who_waits_for_what():
    with quiet_logging():
        first, second = Echo(name="first"), Echo(name="second")
        first.s_out.connect(second.s_in)
        second.s_out.connect(first.s_in)
        session = Session([first, second], ByTag(), idle_limit=1.0)
    with (
        session,
        pytest.raises(BackendFailed, match=r"no process has made progress for 1 s.*'first' is waiting for a message \(faulty/models.py"),
    ):
        session.run(1)


def test_a_process_that_never_returns_is_named():
    with ring("spin", patience=1.0) as session, pytest.raises(BackendFailed, match=r"no step has finished for 1 s.*'second' is in run_spk"):
        session.run(9)


def test_lava_forgets_a_closed_session():
    from lava.magma.core.process.process import ProcessServer
    from lava.magma.core.process.variable import VarServer

    before = len(ProcessServer().processes), len(VarServer().vars)
    ring().close()
    assert (len(ProcessServer().processes), len(VarServer().vars)) == before


def test_two_sessions_at_once_one_of_them_in_a_thread():
    steps = []

    def other() -> None:
        with ring() as session:
            session.run(7)
            steps.append(session.steps)

    with ring() as session:
        thread = threading.Thread(target=other)
        thread.start()
        session.run(5)
        thread.join()
        session.run(5)
        steps.append(session.steps)
    assert steps == [7, 10]


def test_the_root_logger_keeps_its_handlers():
    before = list(logging.getLogger().handlers)
    ring().close()
    assert logging.getLogger().handlers == before


def test_too_little_memory_is_reported(monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lava.magma.compiler.channels.pypychannel.Semaphore", full)
    with pytest.raises(BackendFailed, match=r"could not be started.*No space left on device.*space in /dev/shm"):
        ring()


def test_channels_need_no_room_in_dev_shm():
    from multiprocessing.shared_memory import SharedMemory

    with pytest.raises(OSError, match="No space left"):  # the fixture of this folder
        SharedMemory(create=True, size=8)
    with ring() as session:
        session.run(3)


def test_another_start_method_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: "spawn")
    with pytest.raises(BackendMissing, match=r"'fork'.*'spawn'.*set_start_method\('fork', force=True\)"):
        require_lava()


SCRIPT = """
import sys
import multiprocessing
multiprocessing.Queue()                      # somebody used multiprocessing before Lava was imported
if sys.argv[1] == "simulate":
    import numpy as np
    from tests.helpers.chip_networks import dense_network
    from fsnn_lava.backends.lava.simulator import Simulator
    simulator = Simulator(dense_network(), batch=2)
    simulator.run(np.zeros((2, 7), dtype=np.uint8))
    session = simulator.session
else:
    from tests.backends.lava.test_session import ring
    session = ring()
    session.run(2)
print(*session.pids.values(), flush=True)
if sys.argv[1] == "raise":
    raise ValueError("something else")
while sys.argv[1] == "run":
    session.run(100)
"""


def _script(tmp_path: Path, mode: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A script without a main guard, running in a group of its own, and the ids of its Lava processes."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(path), mode],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    return process, [int(pid) for pid in process.stdout.readline().split()]


def _gone(pids: list[int]) -> bool:
    for _ in range(100):
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(("mode", "code"), [("simulate", 0), ("raise", 1)])
def test_a_script_that_does_not_close_still_ends(tmp_path, mode, code):
    process, pids = _script(tmp_path, mode)
    try:
        assert process.wait(20) == code
        assert len(pids) > 2
        assert _gone(pids)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("sent", "group"),
    [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGKILL, False)],
)
def test_a_signal_leaves_nothing_running(tmp_path, sent, group):
    process, pids = _script(tmp_path, "run")
    try:
        time.sleep(0.3)
        (os.killpg if group else os.kill)(process.pid, sent)
        process.wait(10)
        assert process.returncode == -sent  # Python ends itself by SIGINT after the KeyboardInterrupt was not caught
        assert len(pids) > 2
        assert _gone(pids)
        assert process.stderr is not None
        assert ("KeyboardInterrupt" in process.stderr.read()) == (sent == signal.SIGINT)
    finally:
        process.kill()
        process.communicate()
