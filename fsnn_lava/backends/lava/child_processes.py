"""Set up every forked Lava process so that it ends with its parent, leaves Ctrl-C to the parent, and dumps its stack on a signal."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PR_SET_PDEATHSIG = 1
_STACK_SIGNAL = signal.SIGUSR1

_libc = ctypes.CDLL(None, use_errno=True)
_parent = 0  # pid while Lava forks its processes, else 0
_stacks = -1  # anonymous file, shared by all children, that stacks are written to


@contextmanager
def set_up_children() -> Iterator[None]:
    """Prepare every child process that this thread forks inside the block, as described at the top of this file.

    The kernel ends them together with the *thread* that forked them, so a runtime must be closed before its thread returns.
    """
    global _parent
    _open_stacks()
    _parent = os.getpid()
    try:
        yield
    finally:
        _parent = 0


def _open_stacks() -> None:
    global _stacks
    if _stacks < 0:
        _stacks = os.memfd_create("fsnn-lava-stacks", os.MFD_CLOEXEC)


def _after_fork() -> None:
    global _parent
    parent, _parent = _parent, 0
    if not parent:
        return
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before prctl took effect
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.register(_STACK_SIGNAL, file=_stacks, all_threads=False, chain=False)


os.register_at_fork(after_in_child=_after_fork)


def child_process_stack(pid: int, *, wait: float = 0.5) -> list[tuple[str, int, str]]:
    """Return (file, line, function) for each frame of a child process's main thread, innermost first; empty if it does not answer."""
    start = os.fstat(_stacks).st_size
    os.kill(pid, _STACK_SIGNAL)
    deadline = time.monotonic() + wait
    text = ""
    while time.monotonic() < deadline:
        time.sleep(0.01)
        size = os.fstat(_stacks).st_size
        text = os.pread(_stacks, size - start, start).decode(errors="replace")
        if text.endswith("\n") and 'File "' in text:
            time.sleep(0.01)
            if os.fstat(_stacks).st_size == size:
                break
    return [(file, int(line), function) for file, line, function in re.findall(r'File "([^"]*)", line (\d+) in (\S+)', text)]


def child_process_cpu_ticks(pid: int) -> int | None:
    """Return the CPU time that a child process has used so far, in ticks; None if it has ended."""
    fields = _stat(f"/proc/{pid}/stat")
    return int(fields[11]) + int(fields[12]) if fields else None


def child_process_wants_to_work(pid: int) -> bool:
    """Return whether a thread of a child process is running, runnable, or waiting for a disk; on a busy machine it may wait a while."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    return any(_stat(f"/proc/{pid}/task/{thread}/stat")[:1] in (["R"], ["D"]) for thread in threads)


def _stat(path: str) -> list[str]:
    """Return the fields after the name, starting with the state; empty if the process has ended."""
    try:
        with open(path) as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
