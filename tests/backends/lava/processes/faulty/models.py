from __future__ import annotations

import os
from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from tests.backends.lava.processes.faulty.process import Echo, Relay


@implements(proc=Relay, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyRelay(PyLoihiProcessModel):
    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._fault, self._step = proc_params["fault"], proc_params["step"]
        if self._fault == "raise at once":
            raise RuntimeError("born broken")

    def run_spk(self) -> None:
        now = self._fault if self.time_step == self._step else ""
        if now == "raise before sending":
            raise ValueError("a bad step")
        if now == "exit":
            os._exit(5)
        self.s_out.send(np.zeros(2, dtype=np.int32))
        self.s_in.recv()
        if now == "raise after receiving":
            raise ValueError("a late bad step")
        while now == "spin":
            pass


@implements(proc=Echo, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyEcho(PyLoihiProcessModel):
    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def run_spk(self) -> None:
        self.s_out.send(self.s_in.recv())
