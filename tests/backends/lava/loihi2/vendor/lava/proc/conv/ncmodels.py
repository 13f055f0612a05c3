import os

from lava.magma.core.decorator import implements, requires
from lava.magma.core.model.nc.model import AbstractNcProcessModel
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.conv.models import PyConvModelFixed
from lava.proc.conv.process import Conv

if os.environ.get("MOCK_LOIHI_WITHOUT") != "Conv":

    @implements(proc=Conv, protocol=LoihiProtocol)
    @requires(Loihi2NeuroCore)
    class NcConv(PyConvModelFixed, AbstractNcProcessModel):
        """The CPU's fixed-point model in the neuro core's place."""
