import os

from lava.magma.core.decorator import implements, requires
from lava.magma.core.model.nc.model import AbstractNcProcessModel
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.sdn.models import PySigmaDeltaModelFixed
from lava.proc.sdn.process import SigmaDelta

if os.environ.get("MOCK_LOIHI_WITHOUT") != "SigmaDelta":

    @implements(proc=SigmaDelta, protocol=LoihiProtocol)
    @requires(Loihi2NeuroCore)
    class NcSigmaDelta(PySigmaDeltaModelFixed, AbstractNcProcessModel):
        """The CPU's fixed-point model in the neuro core's place."""
