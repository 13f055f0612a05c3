from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from fsnn_lava.backends.lava.processes.readout.process import Classifier
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.compiled.arithmetic import integrate
from fsnn_lava.limits import STATE_FRACTION_BITS


@implements(proc=Classifier, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyClassifier(PyLoihiProcessModel):
    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.uint8)
    u: np.ndarray = LavaPyType(np.ndarray, np.int32, precision=24)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._readout = proc_params["readout"]
        self._window: Window = proc_params["window"]
        self._potentials, self._clip_count = proc_params["potentials"], proc_params["clip_count"]
        self._scatter = proc_params["scatter"]
        self._bias = self._readout.bias.astype(np.int64) << STATE_FRACTION_BITS
        self._current = np.zeros(self._potentials.shape, dtype=np.int64)

    def run_spk(self) -> None:
        """Run one Lava step of the readout: integrate the last layer's messages."""
        spikes = self.s_in.recv()
        tau = self._window.own_time(self.time_step)
        if tau == 1:
            self.u[:] = 0
            self._clip_count[:] = 0
        if 1 <= tau <= self._window.steps:
            self._scatter(spikes, self._current)
            self.u[:], clipped = integrate(self.u, self._current + self._bias, decay=self._readout.decay)
            self._clip_count += (clipped != 0).sum(axis=1)
        if tau == self._window.steps:
            self._potentials[...] = self.u
