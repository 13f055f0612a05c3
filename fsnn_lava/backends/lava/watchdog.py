"""Watch child processes: whether one has raised or died, whether they are stuck, and what each is waiting for."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from fsnn_lava.backends.lava.child_processes import child_process_cpu_ticks, child_process_stack, child_process_wants_to_work
from fsnn_lava.errors import BackendFailed

POLL = 0.25  # seconds between two checks
_DOING = dict.fromkeys(("wait", "get", "recv"), "is waiting for a message") | dict.fromkeys(("send", "acquire"), "is waiting to send")


class Watch:
    """A watch that distinguishes a long computation from a deadlock."""

    def __init__(self, actors: Sequence[Any], heartbeat: Callable[[], int], patience: float, idle_polls: int) -> None:
        self._pids = [actor.pid for actor in actors]
        self._heartbeat, self._patience, self._limit = heartbeat, patience, idle_polls
        self._ticks: list[int | None] = []
        self._idle = 0  # in polls, not seconds, so that a suspended machine does not look like a deadlock
        self._beat, self._since = heartbeat(), time.monotonic()

    def stuck(self) -> str:
        """Return the reason why the watchdog gives up on the run, or "". Called once per poll."""
        ticks = [child_process_cpu_ticks(pid) for pid in self._pids]
        idle = ticks == self._ticks and not any(map(child_process_wants_to_work, self._pids))
        self._idle = self._idle + 1 if idle else 0
        self._ticks = ticks
        if self._idle >= self._limit:
            return f"no process has made progress for {self._idle * POLL:.0f} s"
        beat, now = self._heartbeat(), time.monotonic()
        if beat != self._beat:
            self._beat, self._since = beat, now
        return f"no step has finished for {self._patience:.0f} s" if now - self._since > self._patience else ""


def watch_for_failure(names: Sequence[str], actors: Sequence[Any], when: str, *, wait: float = 0.0) -> None:
    """Raise BackendFailed if a watched process has raised or died; check for `wait` seconds, plus one to find the cause of a death."""
    deadline = time.monotonic() + wait
    while True:
        pairs = list(zip(names, actors, strict=False))
        for name, actor in pairs:
            if actor.exception:
                error, trace = actor.exception
                raise model_failed(name, error, trace, when)
        dead = [(name, actor.exitcode) for name, actor in pairs if not actor.is_alive()]
        violent = [(name, code) for name, code in dead if code]
        if violent or (dead and time.monotonic() > deadline + 1.0):
            name, code = (violent or dead)[0]
            raise BackendFailed(f"Lava process {name!r} {_ending(code)} {when}")
        if not dead and time.monotonic() >= deadline:
            return
        time.sleep(0.02)


def watchdog_report(names: Sequence[str], actors: Sequence[Any]) -> str:
    """Report which watched processes are inside a step, and where; those that wait for their next step are left out."""
    lines = []
    for name, actor in zip(names, actors, strict=False):
        frames = child_process_stack(actor.pid) if actor.is_alive() else []
        here = next((i for i, (_, _, function) in enumerate(frames) if function in ("run_spk", "run_post_mgmt", "run_pre_mgmt")), None)
        if here is None:
            continue
        file, line, function = frames[here]
        doing = _DOING.get(frames[0][2], f"is in {frames[0][2]}")
        lines.append(f"{name!r} {doing} ({os.path.join(*file.split(os.sep)[-2:])}:{line} {function})")
    return ", ".join(lines) or "no process is inside a step"


class RemoteError(Exception):
    """The traceback of a model, as a string."""


def model_failed(name: str, error: BaseException, trace: str, when: str) -> BackendFailed:
    """Return the watchdog's error for a process model that raised `error`."""
    failed = BackendFailed(f"Lava process {name!r} raised {type(error).__name__} {when}: {error}")
    failed.__cause__ = RemoteError(f"\n{trace}")
    return failed


def _ending(exitcode: int | None) -> str:
    if exitcode is None or exitcode >= 0:
        return f"ended with exit code {exitcode}"
    name = signal.Signals(-exitcode).name
    hint = " (out of memory?)" if -exitcode == signal.SIGKILL else " (shared memory full?)" if -exitcode == signal.SIGBUS else ""
    return f"was killed by {name}{hint}"
