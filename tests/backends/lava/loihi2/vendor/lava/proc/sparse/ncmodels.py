import os

from lava.magma.core.decorator import implements, requires
from lava.magma.core.model.nc.model import AbstractNcProcessModel
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.sparse.models import PySparseModelBitAcc
from lava.proc.sparse.process import Sparse

if os.environ.get("MOCK_LOIHI_WITHOUT") != "Sparse":

    @implements(proc=Sparse, protocol=LoihiProtocol)
    @requires(Loihi2NeuroCore)
    class NcSparse(PySparseModelBitAcc, AbstractNcProcessModel):
        """The CPU's fixed-point model in the neuro core's place."""
