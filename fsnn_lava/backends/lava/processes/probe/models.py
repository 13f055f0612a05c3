from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyRefPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from fsnn_lava.backends.lava.processes.probe.process import Probe, ResetProbe
from fsnn_lava.backends.lava.window import Window


class _Model(PyLoihiProcessModel):
    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    v: PyRefPort = LavaPyType(PyRefPort.VEC_DENSE, np.int32)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._spikes, self._potential, self._beat = proc_params["spikes"], proc_params["potential"], proc_params["beat"]
        self._window: Window = proc_params["window"]

    def run_spk(self) -> None:
        spikes = self.s_in.recv()
        tau = self._window.own_time(self.time_step)
        if 1 <= tau <= self._window.steps:
            self._spikes[tau - 1] = spikes
        self._beat[0] = self.time_step

    def post_guard(self) -> bool:
        return self._window.own_time(self.time_step) == self._window.steps

    def run_post_mgmt(self) -> None:
        self._potential[...] = self.v.read()


@implements(proc=Probe, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyProbe(_Model):
    """Reads v."""


@implements(proc=ResetProbe, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyResetProbe(_Model):
    """Reads v and r, for ATRLIF."""

    r: PyRefPort = LavaPyType(PyRefPort.VEC_DENSE, np.int32)

    def run_post_mgmt(self) -> None:
        """Record the potential v - r; Lava calls this after a step in which the probe must read."""
        self._potential[...] = self.v.read() - self.r.read()
