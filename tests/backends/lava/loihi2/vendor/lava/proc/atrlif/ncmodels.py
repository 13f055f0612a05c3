import os

from lava.magma.core.decorator import implements, requires
from lava.magma.core.model.nc.model import AbstractNcProcessModel
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.atrlif.models import PyATRLIFModelFixed
from lava.proc.atrlif.process import ATRLIF

if os.environ.get("MOCK_LOIHI_WITHOUT") != "ATRLIF":

    @implements(proc=ATRLIF, protocol=LoihiProtocol)
    @requires(Loihi2NeuroCore)
    class NcATRLIF(PyATRLIFModelFixed, AbstractNcProcessModel):
        """The CPU's fixed-point model in the neuro core's place."""
