from __future__ import annotations

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from fsnn_lava.backends.lava.processes.conv.process import Conv
from fsnn_lava.backends.lava.synapse_process import SynapseModel


@implements(proc=Conv, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyConv(SynapseModel):
    """Currents of 32 bits."""


@implements(proc=Conv, protocol=LoihiProtocol)
@requires(CPU)
@tag("wide")
class PyConvWide(SynapseModel):
    """Currents of 64 bits, for a layer whose currents may exceed 32 bits."""

    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int64)


@implements(proc=Conv, protocol=LoihiProtocol)
@requires(CPU)
@tag("changes")
class PyConvChanges(SynapseModel):
    """Graded changes of delta encoding (E15)."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int64)
