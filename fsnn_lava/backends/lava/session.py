"""Run a session of Lava processes and always stop it: a model that raises, a dead process, a deadlock or Ctrl-C gives one clear error."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import queue
import signal
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from fsnn_lava.backends.lava.child_processes import set_up_children
from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.backends.lava.shared_memory import ChannelMemory
from fsnn_lava.backends.lava.watchdog import POLL, Watch, model_failed, watch_for_failure, watchdog_report
from fsnn_lava.errors import BackendFailed

require_lava()

from lava.magma.compiler.channels.pypychannel import CspSendPort  # noqa: E402
from lava.magma.core.process.message_interface_enum import ActorType  # noqa: E402
from lava.magma.core.process.process import AbstractProcess, ProcessServer  # noqa: E402
from lava.magma.core.process.variable import VarServer  # noqa: E402
from lava.magma.core.run_conditions import RunSteps  # noqa: E402
from lava.magma.core.run_configs import RunConfig  # noqa: E402
from lava.magma.runtime.message_infrastructure.multiprocessing import MultiProcessing  # noqa: E402
from lava.magma.runtime.mgmt_token_enums import MGMT_COMMAND, MGMT_RESPONSE, enum_equal  # noqa: E402
from lava.magma.runtime.runtime import Runtime  # noqa: E402

_building = threading.Lock()
_open: weakref.WeakSet[Session] = weakref.WeakSet()


class _GuardedRuntime(Runtime):
    """Lava's runtime with channels in anonymous memory and a set-up that does not wait for a dead child."""

    def initialize(self, node_cfg_idx: int = 0) -> None:
        self._build_watchdog_manager()
        self._messaging_infrastructure = MultiProcessing()
        self._messaging_infrastructure._smm = ChannelMemory()
        self._build_channels()
        self._build_sync_channels()
        self._build_processes()
        self._build_runtime_services()
        self._start_ports()
        self._is_initialized = True

    def stop(self) -> None:
        """Do nothing: only `Session.close` stops the processes, since Lava's own stop waits forever once a child has failed."""


class Session:
    """Connected Lava processes, compiled and running as OS processes until `close`, whatever happens in between.

    `heartbeat` returns a number that grows while the run makes progress; if it does not change for `patience` seconds, the run is
    abandoned. Independently, a run in which no process uses any CPU time for `idle_limit` seconds counts as a deadlock.
    """

    def __init__(
        self,
        processes: Sequence[AbstractProcess],
        run_config: RunConfig,
        *,
        channel_slots: int = 2,
        heartbeat: Callable[[], int] | None = None,
        patience: float = 300.0,
        idle_limit: float = 4.0,
    ) -> None:
        self._processes = list(processes)
        self._heartbeat = heartbeat or (lambda: 0)
        self._patience = patience
        self._idle_polls = max(1, round(idle_limit / POLL))
        self._closed = False
        self._runtime: _GuardedRuntime | None = None
        self._names: list[str] = []
        self.steps = 0  # number of steps run so far
        _open.add(self)
        try:
            self._start(run_config, channel_slots)
        except BaseException:
            self._kill()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def pids(self) -> dict[str, int]:
        """Map the name of each process in the session to the id of the OS process that runs it."""
        return {name: actor.pid for name, actor in zip(self._names, self._actors, strict=True)}

    @property
    def _actors(self) -> list[Any]:
        if self._runtime is None or self._runtime._messaging_infrastructure is None:
            return []
        return list(self._runtime._messaging_infrastructure.actors)

    def run(self, steps: int) -> None:
        """Run `steps` more steps; any error is raised only after every process has ended."""
        runtime = self._running()
        try:
            runtime.start(RunSteps(num_steps=steps, blocking=False))
            self._wait_for_answer(f"at step {self.steps + 1} … {self.steps + steps}")
            runtime._is_running = False
            self.steps += steps
        except BaseException:
            self._kill()
            raise

    def paused(self, function: Callable[[], None]) -> None:
        """Call `function`, which reads or writes Vars between two runs; if a process dies, raise instead of waiting forever."""
        self._running()
        failures: list[BaseException] = []
        done = threading.Event()

        def call() -> None:
            try:
                function()
            except BaseException as error:  # passed to the caller
                failures.append(error)
            done.set()

        try:
            threading.Thread(target=call, name="fsnn-lava vars", daemon=True).start()
            while not done.wait(POLL):
                watch_for_failure(self._names, self._actors, f"after step {self.steps}")
            for failure in failures:
                raise BackendFailed(f"the Lava processes failed to exchange Vars after step {self.steps}: {failure}") from failure
        except BaseException:
            self._kill()
            raise

    def _running(self) -> _GuardedRuntime:
        if self._closed or self._runtime is None:
            raise BackendFailed("the Lava processes have been stopped; create a new simulator")
        return self._runtime

    def close(self) -> None:
        """Ask the session's processes to stop, wait briefly, then kill those that are left. May be called twice."""
        if self._closed:
            return
        if self._runtime is not None and self._runtime._is_started and not self._runtime._is_running:
            try:
                self._ask_to_stop()
            except BaseException:
                self._kill()
                raise
        self._kill()

    # --- start -------------------------------------------------------------------------------------------------------------

    def _start(self, run_config: RunConfig, channel_slots: int) -> None:
        executable = self._processes[0].compile(run_config, {"pypy_channel_size": channel_slots})
        self._processes = list(dict.fromkeys([*self._processes, *executable.proc_builders]))
        self._names = [process.name for process in executable.proc_builders] + ["runtime service"] * len(
            executable.runtime_service_builders
        )
        self._runtime = _GuardedRuntime(executable, ActorType.MultiProcessing)
        executable.assign_runtime_to_all_processes(self._runtime)
        try:
            with _building, _no_interrupt(), set_up_children():
                self._runtime.initialize()
        except OSError as error:
            raise BackendFailed(
                f"the Lava processes could not be started: {error}; check the free memory and the free space in /dev/shm"
            ) from error
        self._wait_for_models()
        self._runtime._is_started = True

    def _wait_for_models(self) -> None:
        """Wait until every process has built its model."""
        runtime = self._running()
        watch = Watch(self._actors, lambda: 0, self._patience, round(30 / POLL))
        for name, answers in zip(self._names, runtime.exception_q, strict=True):
            while True:
                try:
                    error = answers.get(timeout=POLL)
                    break
                except queue.Empty:
                    watch_for_failure(self._names, self._actors, "during set-up")
                    reason = watch.stuck()
                    if reason:
                        raise BackendFailed(f"Lava process {name!r} hangs during set-up: {reason}") from None
            answers.close()
            if error is not None:
                raise model_failed(name, error, getattr(error, "trace", ""), "during set-up")
        runtime.exception_q = []

    # --- run ---------------------------------------------------------------------------------------------------------------

    def _wait_for_answer(self, when: str) -> None:
        """Wait until all runtime services have answered DONE; otherwise raise BackendFailed."""
        for port in self._running().service_to_runtime:
            self._wait_for_message(port, when)
            answer = port.recv()
            if not enum_equal(answer, MGMT_RESPONSE.DONE):
                watch_for_failure(self._names, self._actors, when, wait=1.0)
                raise BackendFailed(f"the Lava runtime answered {answer} {when}, but no process reported an error")

    def _wait_for_message(self, port: Any, when: str) -> None:
        arrived = threading.Event()
        port.observer = arrived.set
        watch = Watch(self._actors, self._heartbeat, self._patience, self._idle_polls)
        try:
            while not port.probe():
                if not arrived.wait(POLL):
                    watch_for_failure(self._names, self._actors, when)
                    reason = watch.stuck()
                    if reason:
                        raise BackendFailed(f"the Lava processes hang {when}: {reason}; {watchdog_report(self._names, self._actors)}")
        finally:
            port.observer = None

    # --- stop --------------------------------------------------------------------------------------------------------------

    def _ask_to_stop(self) -> None:
        for port in self._running().runtime_to_service:
            port.send(MGMT_COMMAND.STOP)
        deadline = time.monotonic() + 2.0
        for actor in self._actors:
            multiprocessing.Process.join(actor, max(0.0, deadline - time.monotonic()))

    def _kill(self) -> None:
        """Kill all processes of this session and remove it from Lava's registries."""
        self._closed = True
        _open.discard(self)
        with _no_interrupt():
            for actor in self._actors:
                if actor._parent_pid == os.getpid() and not actor._is_done:
                    multiprocessing.Process.kill(actor)
            for actor in self._actors:
                if actor._parent_pid == os.getpid():
                    actor.join()
            self._release_ports()
            self._forget()

    def _release_ports(self) -> None:
        """End the threads that listen on our side of the channels."""
        if self._runtime is None:
            return
        self._runtime._is_started = self._runtime._is_running = False
        for port in self._runtime._open_ports:
            ears = port._ack if isinstance(port, CspSendPort) else port._req
            if port.thread is not None and ears is not None:
                port._done = True
                ears.release()
                port.thread.join(1.0)
        self._runtime._open_ports.clear()

    def _forget(self) -> None:
        """Remove our processes from Lava's registries, which would keep them forever, so that memory does not grow with every session."""
        ours = {id(process) for process in self._processes}
        server, variables = ProcessServer(), VarServer()
        server.processes = [process for process in server.processes if id(process) not in ours]
        variables.vars = [variable for variable in variables.vars if id(getattr(variable, "process", None)) not in ours]
        for process in self._processes:
            process._runtime = None
        self._runtime = None


class _no_interrupt:
    """Defer Ctrl-C until the end of the block. Only the main thread receives it, so in other threads this does nothing."""

    def __enter__(self) -> None:
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    def __exit__(self, *error: object) -> None:
        if self._main:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


@atexit.register
def _close_all() -> None:
    """Close all sessions at exit; otherwise the interpreter would wait for their processes forever."""
    for session in list(_open):
        session._kill()
