from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import OutPort
from lava.magma.core.process.process import AbstractProcess
from numpy.typing import NDArray


class Feeder(AbstractProcess):
    """Feeds events to stock processes: `messages` [P, *shape] in shared memory, one per step, repeated every P steps."""

    def __init__(self, *, messages: NDArray[np.int32], name: str) -> None:
        super().__init__(messages=messages, tag="fixed_pt", name=name)
        self.s_out = OutPort(shape=messages.shape[1:])
