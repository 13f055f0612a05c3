"""Lava processes as threads of this process: the same process models, connected by queues instead of Lava's runtime.

A graph starts in milliseconds, so that tests can run many. `ThreadSession` takes the place of `fsnn_lava.backends.lava.session.Session`;
what only a real runtime can show (set-up, failures, `Var.get` and `Var.set`) is tested with the real one.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from lava.magma.compiler.compiler_graphs import ProcGroupDiGraphs
from lava.magma.core.process.process import AbstractProcess, ProcessServer
from lava.magma.core.process.variable import VarServer
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

WAIT = 20.0  # seconds for a message; it takes microseconds unless a thread has died or all wait for each other


class _Out:
    """An out port: what is sent has the port's own dtype, and everyone who is connected gets a copy."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self._d_type = shape, dtype
        self.channels: list[queue.SimpleQueue[NDArray[Any]]] = []

    def send(self, data: NDArray[Any]) -> None:
        for channel in self.channels:
            channel.put(np.array(np.broadcast_to(data, self.shape), dtype=self._d_type))


class _In:
    """An in port: the sum of what arrives, each message transformed by the virtual ports in between."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self._d_type = shape, dtype
        self.sources: list[tuple[queue.SimpleQueue[NDArray[Any]], list[Callable[[NDArray[Any]], NDArray[Any]]]]] = []

    def recv(self) -> NDArray[Any]:
        total = np.zeros(self.shape, self._d_type)
        for channel, transforms in self.sources:
            data = channel.get(timeout=WAIT)
            for transform in transforms:
                data = transform(data)
            total = total + data
        return total


class _Ref:
    """A ref port, which is read between two steps: the variable of the model it is connected to."""

    def __init__(self, model: Any, name: str) -> None:
        self._model, self._name = model, name

    def read(self) -> NDArray[Any]:
        return np.array(getattr(self._model, self._name))


class ThreadSession:
    """Connected processes, run step by step in one thread each."""

    def __init__(self, processes: Sequence[AbstractProcess], run_config: Any, *, heartbeat: Callable[[], int] | None = None) -> None:
        self.steps = 0
        self._models = {process.id: _model(process, run_config) for process in processes}
        for process in processes:
            self._connect(process)
        _forget(processes)

    def __enter__(self) -> ThreadSession:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(self, steps: int) -> None:
        """Run `steps` more steps. An error of a model is raised here, after all threads have ended."""
        for _ in range(steps):
            self.steps += 1
            failures: list[BaseException] = []
            threads = [threading.Thread(target=_step, args=(model, self.steps, failures)) for model in self._models.values()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if failures:
                raise min(failures, key=lambda failure: isinstance(failure, queue.Empty))  # not one that only waited
            for model in self._models.values():
                if model.post_guard():
                    model.run_post_mgmt()

    def close(self) -> None:
        """Nothing is left to end."""

    def _connect(self, process: AbstractProcess) -> None:
        model = self._models[process.id]
        for port in process.in_ports:
            for before in port.in_connections:
                (source,) = before.get_src_ports(True)
                _, virtual = before.get_incoming_virtual_ports()
                channel: queue.SimpleQueue[NDArray[Any]] = queue.SimpleQueue()
                getattr(self._models[source.process.id], source.name).channels.append(channel)
                getattr(model, port.name).sources.append((channel, [one.get_transform_func_fwd() for one in virtual]))
        for port in process.ref_ports:
            (variable,) = port.get_dst_vars()
            setattr(model, port.name, _Ref(self._models[variable.process.id], variable.name))


def _forget(processes: Sequence[AbstractProcess]) -> None:
    """Remove the processes from Lava's registries, which would keep them forever."""
    ours = {id(process) for process in processes}
    server, variables = ProcessServer(), VarServer()
    server.processes = [process for process in server.processes if id(process) not in ours]
    variables.vars = [variable for variable in variables.vars if id(getattr(variable, "process", None)) not in ours]


def _step(model: Any, step: int, failures: list[BaseException]) -> None:
    try:
        model.time_step = step
        model.run_spk()
    except BaseException as failure:  # raised again where the threads were started
        failures.append(failure)


@cache
def _models_of(kind: type[AbstractProcess]) -> Callable[[AbstractProcess], list[Any]]:
    """The models of a kind of process; Lava's search executes every module of its folder, so it is asked once."""
    found: list[Any] = []

    def ask(process: AbstractProcess) -> list[Any]:
        found[:] = found or ProcGroupDiGraphs._find_proc_models(process)
        return found

    return ask


def _model(process: AbstractProcess, run_config: Any) -> Any:
    """The model of a process, with its variables and with ports that are queues."""
    kind = run_config.select(process, _models_of(type(process))(process))
    model = kind(process.proc_params)
    for ports, made in ((process.in_ports, _In), (process.out_ports, _Out)):
        for port in ports:
            setattr(model, port.name, made(port.shape, getattr(kind, port.name).d_type))
    for variable in process.vars:
        setattr(model, variable.name, _value(variable, getattr(kind, variable.name)))
    return model


def _value(variable: Any, declared: Any) -> Any:
    """What Lava's builder makes of a variable: arrays have the declared dtype, numbers and sparse matrices are passed on."""
    if issubclass(declared.cls, np.ndarray):
        array = np.empty(variable.shape, declared.d_type)
        array[:] = variable.init
        return array
    if issubclass(declared.cls, csr_matrix) and isinstance(variable.init, int):
        return csr_matrix(variable.shape, dtype=declared.d_type)
    return variable.init
