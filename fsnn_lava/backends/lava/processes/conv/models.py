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
    """Convolution with 32-bit currents."""


@implements(proc=Conv, protocol=LoihiProtocol)
@requires(CPU)
@tag("wide")
class PyConvWide(SynapseModel):
    """Convolution with 64-bit currents, for a layer whose currents may exceed 32 bits."""

    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int64)


@implements(proc=Conv, protocol=LoihiProtocol)
@requires(CPU)
@tag("changes")
class PyConvChanges(SynapseModel):
    """Convolution of graded changes, for delta encoding (E15)."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int64)
