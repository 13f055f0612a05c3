from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from fsnn_lava.backends.lava.processes.delta_readout.process import DeltaClassifier
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.limits import STATE_MAX


@implements(proc=DeltaClassifier, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyDeltaClassifier(PyLoihiProcessModel):
    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._scatter, self._bias = proc_params["scatter"], proc_params["bias"]
        self._window: Window = proc_params["window"]
        self._sums, self._clip_count = proc_params["sums"], proc_params["clip_count"]
        self._total = np.zeros(self._sums.shape, dtype=np.int64)
        self._received = np.zeros(self._sums.shape, dtype=np.int64)

    def run_spk(self) -> None:
        """Run one Lava step of the delta readout: add the changes of the last layer to the sums."""
        changes = self.s_in.recv()
        tau = self._window.own_time(self.time_step)
        if tau == 1:
            self._total[:] = 0
        if 1 <= tau <= self._window.steps:
            self._scatter(changes, self._received)
            self._total += self._received
        if tau == self._window.steps:
            raw = self._total + self._bias
            self._clip_count[:] = (np.abs(raw) > STATE_MAX).sum(axis=1)
            self._sums[...] = np.clip(raw, -STATE_MAX, STATE_MAX)
