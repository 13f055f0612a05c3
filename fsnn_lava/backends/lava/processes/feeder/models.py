from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from fsnn_lava.backends.lava.processes.feeder.process import Feeder


@implements(proc=Feeder, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyFeeder(PyLoihiProcessModel):
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._messages = proc_params["messages"]

    def run_spk(self) -> None:
        """Run one Lava step of the feeder: send this step's messages."""
        self.s_out.send(self._messages[(self.time_step - 1) % len(self._messages)])
