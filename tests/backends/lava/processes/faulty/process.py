from __future__ import annotations

from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess


class Relay(AbstractProcess):
    """Sends zeros, then receives; at Lava step `step` it does what `fault` says."""

    def __init__(self, *, fault: str = "", step: int = 3, name: str) -> None:
        super().__init__(fault=fault, step=step, name=name)
        self.s_in = InPort(shape=(2,))
        self.s_out = OutPort(shape=(2,))


class Echo(AbstractProcess):
    """Receives, then sends it on: two of them in a ring wait for each other for ever."""

    def __init__(self, *, name: str) -> None:
        super().__init__(name=name)
        self.s_in = InPort(shape=(2,))
        self.s_out = OutPort(shape=(2,))
