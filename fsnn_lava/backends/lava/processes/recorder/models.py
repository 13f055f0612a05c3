from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from fsnn_lava.backends.lava.processes.recorder.process import Recorder
from fsnn_lava.backends.lava.window import Window


class _Model(PyLoihiProcessModel):
    s_in: PyInPort

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._spikes, self._beat = proc_params["spikes"], proc_params["beat"]
        self._window: Window = proc_params["window"]

    def run_spk(self) -> None:
        spikes = self.s_in.recv()
        tau = self._window.own_time(self.time_step)
        if 1 <= tau <= self._window.steps:
            self._spikes[tau - 1] = spikes
        self._beat[0] = self.time_step


@implements(proc=Recorder, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyRecorder(_Model):
    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.uint8)


@implements(proc=Recorder, protocol=LoihiProtocol)
@requires(CPU)
@tag("stock")
class PyStockRecorder(_Model):
    """A recorder for stock processes, which also records the graded changes of our own neurons."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
