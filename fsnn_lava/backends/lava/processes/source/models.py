from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from fsnn_lava.backends.lava.processes.source.process import Source
from fsnn_lava.backends.lava.window import Window


class _Model(PyLoihiProcessModel):
    s_out: PyOutPort

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._values = proc_params["values"]
        self._beat = proc_params["beat"]
        self._window: Window = proc_params["window"]

    def run_spk(self) -> None:
        if self._values.ndim == 2:
            self.s_out.send(self._values)
        else:
            tau = self._window.own_time(self.time_step)
            awake = 1 <= tau <= self._window.steps
            self.s_out.send(self._values[:, tau - 1] if awake else np.zeros_like(self._values[:, 0]))
        self._beat[0] = self.time_step


@implements(proc=Source, protocol=LoihiProtocol)
@requires(CPU)
@tag("messages")
class PyMessageSource(_Model):
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.uint8)


@implements(proc=Source, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyCurrentSource(_Model):
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)


@implements(proc=Source, protocol=LoihiProtocol)
@requires(CPU)
@tag("wide")
class PyCurrentSourceWide(_Model):
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int64)
