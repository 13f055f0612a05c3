"""One process holds the lock; the others get a message that names it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.files import lock
from fsnn_lava.files.lock import held_elsewhere, locked

HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
file.write(sys.argv[2]); file.flush()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hold():
    """Let another process hold a lock until the test ends; a process that asks for its own lock always gets it."""
    started = []

    def start(path, note):
        process = subprocess.Popen([sys.executable, "-c", HOLDER, path, note], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.communicate("")


def test_the_lock_of_another_process_is_refused_with_its_note(tmp_path, hold, monkeypatch):
    monkeypatch.setattr(lock, "PAUSE_SECONDS", 0.0)
    path = tmp_path / ".lock"
    process = hold(path, "4711")
    with (
        pytest.raises(BadArgument, match=r"another run \(process 4711\) is writing into here; wait for it"),
        locked(path, note="1", what="into here"),
    ):
        pass
    assert path.read_text() == "4711"
    process.communicate("")
    with locked(path, note="12", what="into here"):
        assert path.read_text() == "12"  # and not 1211: the longer note is gone


@pytest.mark.skipif(sys.platform != "linux", reason="struct flock differs on other systems")
def test_asking_who_holds_a_lock_does_not_take_it(tmp_path, hold):
    path = tmp_path / ".lock"
    assert held_elsewhere(path) is None
    assert not path.exists()
    process = hold(path, "a note")
    assert held_elsewhere(path) == "a note"
    process.communicate("")
    assert held_elsewhere(path) is None


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_again(tmp_path, monkeypatch):
    """Between opening and locking the previous owner removes the file: a lock on the removed file would keep nobody out."""
    monkeypatch.setattr(lock, "PAUSE_SECONDS", 0.0)
    path, calls = tmp_path / "folder/.lock", []
    really = lock._try

    def first_time_removed(handle):
        calls.append(handle)
        if len(calls) == 1:
            os.unlink(path)
        return really(handle)

    monkeypatch.setattr(lock, "_try", first_time_removed)
    with locked(path, note="7", what="there"):
        assert path.read_text() == "7"
    assert len(calls) == 2
