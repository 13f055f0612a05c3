import os

from lava.magma.core.decorator import implements, requires
from lava.magma.core.model.nc.model import AbstractNcProcessModel
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.lif.models import PyLifResetModelBitAcc
from lava.proc.lif.process import LIFReset

if os.environ.get("MOCK_LOIHI_WITHOUT") != "LIFReset":

    @implements(proc=LIFReset, protocol=LoihiProtocol)
    @requires(Loihi2NeuroCore)
    class NcLIFReset(PyLifResetModelBitAcc, AbstractNcProcessModel):
        """The CPU's fixed-point model in the neuro core's place."""
