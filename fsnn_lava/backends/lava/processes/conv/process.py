from __future__ import annotations

from fsnn_lava.backends.lava.synapse_process import SynapseProcess


class Conv(SynapseProcess):
    """A convolution with zero padding, any stride and any number of groups."""
