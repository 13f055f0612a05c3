import os

from lava.magma.core.decorator import implements, requires
from lava.magma.core.model.nc.model import AbstractNcProcessModel
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.dense.models import PyDelayDenseModelBitAcc, PyDenseModelBitAcc
from lava.proc.dense.process import DelayDense, Dense

if os.environ.get("MOCK_LOIHI_WITHOUT") != "Dense":

    @implements(proc=Dense, protocol=LoihiProtocol)
    @requires(Loihi2NeuroCore)
    class NcDense(PyDenseModelBitAcc, AbstractNcProcessModel):
        """The CPU's fixed-point model in the neuro core's place."""


if os.environ.get("MOCK_LOIHI_WITHOUT") != "DelayDense":

    @implements(proc=DelayDense, protocol=LoihiProtocol)
    @requires(Loihi2NeuroCore)
    class NcDelayDense(PyDelayDenseModelBitAcc, AbstractNcProcessModel):
        """The CPU's fixed-point model in the neuro core's place."""
