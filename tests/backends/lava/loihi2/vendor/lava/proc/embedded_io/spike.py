"""Adapters between host and neuro cores: here they pass on what they get, in the same step."""

import os
import time

import numpy as np
from lava.magma.core.decorator import implements, requires
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

BREAKS_AT = 5


class _Adapter(AbstractProcess):
    def __init__(self, *, shape, num_message_bits=0, **kwargs):
        super().__init__(shape=shape, num_message_bits=num_message_bits, **kwargs)
        self.inp = InPort(shape=shape)
        self.out = OutPort(shape=shape)


class PyToNxAdapter(_Adapter):
    pass


class PyToN3ConvAdapter(_Adapter):
    pass


class NxToPyAdapter(_Adapter):
    pass


class _Relay(PyLoihiProcessModel):
    inp: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def run_spk(self):
        if self.time_step == BREAKS_AT:
            _break()
        self.out.send(self.inp.recv())


def _break():
    how = os.environ.get("MOCK_LOIHI")
    if how == "hang":
        time.sleep(3600)
    if how == "die":
        os._exit(9)
    if how == "kill job":
        os.kill(os.getppid(), 9)
    if how == "raise":
        raise RuntimeError("the mock board lost its power")


@implements(proc=PyToNxAdapter, protocol=LoihiProtocol)
@requires(CPU)
class PyToNxModel(_Relay):
    pass


@implements(proc=PyToN3ConvAdapter, protocol=LoihiProtocol)
@requires(CPU)
class PyToN3ConvModel(_Relay):
    pass


@implements(proc=NxToPyAdapter, protocol=LoihiProtocol)
@requires(CPU)
class NxToPyModel(_Relay):
    pass
